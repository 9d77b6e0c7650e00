"""Running text, cut into words and sentences.

A word is a run of letters, digits and combining marks; ``don't``, ``3.5``, ``1/2``, ``1,000`` and ``ann@example.org`` are single words. Any other
character is a token of its own, and white space only separates. The rules know no language: if your training data was cut by other rules,
cut new text in the same way, and give ``Tagger.tag`` the words.

>>> from crfkit import ChainCRF, text
>>> recipe = "2 cups, sifted"
>>> [recipe[start:end] for start, end in text.tokens(recipe)]
['2', 'cups', ',', 'sifted']
>>> crf = ChainCRF(template="default").fit([["2", "cups"], ["3", "eggs"]], [["B-QTY", "B-UNIT"], ["B-QTY", "B-NAME"]])
>>> [("2 cups"[span.start : span.end], span.label) for span in crf.tagger_.tag_text("2 cups")]
[('2', 'QTY'), ('cups', 'UNIT')]
"""

from __future__ import annotations

from crfkit._crfkit import Tagger, check_text, text_parts
from crfkit.errors import SettingError
from crfkit.spans import Span


def tokens(text: str) -> list[tuple[int, int]]:
    """The words and other tokens of a text: where each begins, and where it ends."""
    return text_parts(text, False)


def sentences(text: str) -> list[tuple[int, int]]:
    """The sentences of a text: where each begins, and where it ends."""
    return text_parts(text, True)


def spans(tagger: Tagger, text: str, by_sentence: bool = False) -> list[Span]:
    """The labelled parts of a text; ``Tagger.tag_text`` is the same."""
    if tagger.model.takes != "rows":
        raise SettingError("the model was trained on features, not on words: make the features of each word, and call tag")
    check_text(tagger)
    found = []
    begin = 0
    for line in text.splitlines(keepends=True):
        parts = sentences(line) if by_sentence else [(0, len(line))]
        for start, end in parts:
            part, offset = line[start:end], begin + start
            places = tokens(part)
            for span in tagger.tag([part[a:b] for a, b in places]).spans:
                place = (offset + places[span.start][0], offset + places[span.end - 1][1])
                found.append(Span(*place, span.label, span.probability))
        begin += len(line)
    return found
