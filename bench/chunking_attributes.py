#!/usr/bin/env python3
"""Column text (word, part of speech, label) to CRFsuite attribute lines, for the chunking rows.

    chunking_attributes.py [--padded] [--base-np] < train.txt > train.attributes

Every token gets the words at -2..2, the word pairs around it, and the part-of-speech tags at -2..2 with their pairs and
triples: the 19 unigram templates of CRF++'s chunking example. What lies outside the sentence is either left out, together
with every template that needs it, and the first and last token are marked __BOS__ and __EOS__ (CRFsuite's way); or, with
--padded, it is written _B-1, _B+1 and so on (CRF++'s way). --base-np keeps the labels of noun phrases alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator

Sentence = list[list[str]]  # one list of columns a token

REACH = 2  # the templates look this far to either side
WORD, TAG = 0, 1
COLUMN_NAMES = {WORD: "w", TAG: "pos"}


def windows(column: int, width: int, first: int, last: int) -> list[tuple[int, int, int]]:
    """Templates of `width` neighbouring values of one column, the leftmost offset running over first..=last."""
    return [(column, start, width) for start in range(first, last + 1)]


# (column, offset of the leftmost value, number of neighbouring values), in the order in which they are written.
TEMPLATES = (
    windows(WORD, 1, -2, 2)
    + windows(WORD, 2, -1, 0)
    + windows(TAG, 1, -2, 2)
    + windows(TAG, 2, -2, 1)
    + windows(TAG, 3, -2, 0)
)


def template_prefix(column: int, start: int, width: int) -> str:
    return "|".join(f"{COLUMN_NAMES[column]}[{start + i}]" for i in range(width)) + "="


PREFIXED = [(template_prefix(*template), *template) for template in TEMPLATES]


def read_sentences(lines: Iterable[str]) -> Iterator[Sentence]:
    """Groups the lines between blank lines; each line is split at white space."""
    sentence: Sentence = []
    for line in lines:
        columns = line.split()
        if columns:
            sentence.append(columns)
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def sentence_attributes(sentence: Sentence, padded: bool) -> list[list[str]]:
    """The attributes of every token, as names (not escaped)."""
    left = [f"_B-{distance}" for distance in range(REACH, 0, -1)]
    right = [f"_B+{distance}" for distance in range(1, REACH + 1)]
    series = {column: left + [token[column] for token in sentence] + right for column in COLUMN_NAMES}
    length = len(sentence)
    rows = []
    for at in range(length):
        row = []
        for prefix, column, start, width in PREFIXED:
            begin = at + start
            if padded or (begin >= 0 and begin + width <= length):
                row.append(prefix + "|".join(series[column][begin + REACH : begin + REACH + width]))
        rows.append(row)
    if not padded:
        rows[0].append("__BOS__")
        rows[-1].append("__EOS__")
    return rows


def base_np(label: str) -> str:
    return label if label.endswith("-NP") else "O"


def escape(name: str) -> str:
    """In attribute lines a backslash escapes and a colon separates the value."""
    return name.replace("\\", "\\\\").replace(":", "__COLON__")


def attribute_lines(lines: Iterable[str], *, padded: bool, only_base_np: bool) -> Iterator[str]:
    """One line a token (label, then attributes, tab-separated), an empty line after each sentence."""
    for sentence in read_sentences(lines):
        for token, names in zip(sentence, sentence_attributes(sentence, padded)):
            label = base_np(token[-1]) if only_base_np else token[-1]
            yield "\t".join([label, *map(escape, names)]) + "\n"
        yield "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--padded", action="store_true", help="write _B-1, _B+1 outside the sentence, as CRF++ does")
    parser.add_argument("--base-np", action="store_true", help="labels B-NP, I-NP and O")
    options = parser.parse_args()
    sys.stdout.writelines(attribute_lines(sys.stdin, padded=options.padded, only_base_np=options.base_np))


if __name__ == "__main__":
    main()
