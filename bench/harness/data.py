"""The corpora, and the files made from them under `bench/work`."""

from __future__ import annotations

import gzip
import itertools
import os
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import chunking_attributes
import embeddings
import letters
from harness.tools import BENCH, SetupFailed

WORK = BENCH / "work"
BROWN_TRAIN, BROWN_TEST = 32_623, 2_000  # sentences; the first number is that of the paper with the 53 days
SUFFIXES = re.compile(r"(-(HL|TL|NC))+$")

NEEDED = {
    "conll2000/train.txt": "CoNLL-2000 chunking, 8936 sentences: word, part of speech, chunk label",
    "conll2000/test.txt": "its test set, 2012 sentences",
    "brown/brown.tsv.gz": "the Brown corpus with parts of speech: word, tag",
    "brown/peers_c_train.attributes": "1000 sentences of the Brown corpus with the full tag set, as attribute lines",
}


def corpora() -> Path:
    """The directory that CRFKIT_DATA names, checked."""
    listing = "\n".join(f"  {name:32} {what}" for name, what in NEEDED.items())
    named = os.environ.get("CRFKIT_DATA")
    if not named:
        raise SetupFailed(f"set CRFKIT_DATA to the directory that holds the corpora (they are not ours to ship):\n{listing}")
    root = Path(named).resolve()
    missing = [name for name in NEEDED if not (root / name).is_file()]
    if missing:
        raise SetupFailed(f"CRFKIT_DATA lacks {', '.join(missing)}. Needed are:\n{listing}")
    return root


@dataclass(frozen=True)
class Data:
    """Each file is made when it is first asked for, and again when its source or its maker is newer."""

    root: Path
    work: Path
    sentences: int | None = None  # keep only so many, for a quick check

    def columns(self, part: str, *, base_np: bool = False) -> Path:
        source = self.root / "conll2000" / f"{part}.txt"
        if not base_np and self.sentences is None:
            return source
        target = self.work / f"{'base-np' if base_np else 'conll2000'}-{part}.txt"

        def lines() -> Iterator[str]:
            for sentence in chunking_attributes.read_sentences(self._lines(source)):
                for *observed, label in sentence:
                    yield " ".join([*observed, chunking_attributes.base_np(label) if base_np else label]) + "\n"
                yield "\n"

        return self._make(target, source, lines())

    def attributes(self, part: str, *, padded: bool = False, base_np: bool = False) -> Path:
        source = self.root / "conll2000" / f"{part}.txt"
        name = "-".join(["base-np" if base_np else "conll2000", part, *(["padded"] if padded else [])])
        lines = chunking_attributes.attribute_lines(self._lines(source), padded=padded, only_base_np=base_np)
        return self._make(self.work / f"{name}.attributes", source, lines)

    def brown_attributes(self) -> Path:
        source = self.root / "brown" / "peers_c_train.attributes"
        if self.sentences is None:
            return source
        return self._make(self.work / "brown-train.attributes", source, self._lines(source))

    def brown(self, part: str, *, stripped: bool) -> Path:
        """Random sentences of the Brown corpus, `stripped` of the suffixes -HL, -TL and -NC of tags; training and test sets are apart."""
        source = self.root / "brown" / "brown.tsv.gz"
        first, number = {"train": (0, BROWN_TRAIN), "test": (BROWN_TRAIN, BROWN_TEST)}[part]
        number = number if self.sentences is None else min(number, self.sentences)

        def lines() -> Iterator[str]:
            with gzip.open(source, "rt", encoding="utf-8") as text:
                sentences = [sentence.split("\n") for sentence in text.read().strip("\n").split("\n\n")]
            for sentence in random.Random(1).sample(sentences, BROWN_TRAIN + BROWN_TEST)[first : first + number]:
                for word, tag in (line.split("\t") for line in sentence):
                    yield f"{word}\t{SUFFIXES.sub('', tag) if stripped else tag}\n"
                yield "\n"

        return self._make(self.work / f"brown-{'stripped' if stripped else 'all'}-{part}.tsv", source, lines())

    def letters(self, part: str, form: str) -> Path:
        """Made-up letters: as attributes, as text with labels alone (`txt`), or the pixels as a matrix (`npy`)."""
        return self._with_vectors(letters, {"train": (5000, 3), "test": (1000, 4)}, part, form)

    def embeddings(self, part: str, form: str) -> Path:
        """Made-up words with vectors, in the forms of [letters](Data.letters)."""
        return self._with_vectors(embeddings, {"train": (500, 3), "test": (100, 4)}, part, form)

    def _with_vectors(self, of: ModuleType, parts: dict[str, tuple[int, int]], part: str, form: str) -> Path:
        """`parts` has the number of sequences of each part, and its seed."""
        count, seed = parts[part]
        count = count if self.sentences is None else min(count, self.sentences)
        target, maker = self.work / f"{of.__name__}-{part}.{form}", Path(str(of.__file__))
        if form == "npy":
            if not target.exists() or target.stat().st_mtime <= maker.stat().st_mtime:
                self.work.mkdir(parents=True, exist_ok=True)
                of.write_matrix(target, count, seed)
            return target
        lines = of.attribute_lines if form == "attributes" else of.column_lines
        return self._make(target, maker, lines(count, seed))

    def label_pairs(self) -> Path:
        """A template of label pairs, and nothing of the text."""
        return self._make(self.work / "pairs.tpl", Path(letters.__file__), ["B\n"])

    def repeated_test(self, times: int) -> Path:
        return self._repeated(self.columns("test"), times, f"conll2000-test-{times}x.txt")

    def repeated_test_attributes(self, times: int) -> Path:
        source = self.attributes("test", padded=True)
        return self._repeated(source, times, f"conll2000-test-padded-{times}x.attributes")

    def _repeated(self, source: Path, times: int, name: str) -> Path:
        # The blank line keeps two copies apart where the file does not end in one.
        copies = itertools.chain.from_iterable(itertools.chain(read_lines(source), ["\n"]) for _ in range(times))
        return self._make(self.work / name, source, copies)

    def one_token(self) -> Path:
        source = self.attributes("test")
        first = itertools.islice(read_lines(source), 1)
        return self._make(self.work / "one-token.attributes", source, itertools.chain(first, ["\n"]))

    def _lines(self, source: Path) -> Iterator[str]:
        return first_sentences(read_lines(source), self.sentences)

    def _make(self, target: Path, source: Path, lines: Iterable[str]) -> Path:
        made_from = max(path.stat().st_mtime for path in (source, Path(chunking_attributes.__file__)))
        if target.exists() and target.stat().st_mtime > made_from:
            return target
        self.work.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(target.name + ".unfinished")
        with unfinished.open("w", encoding="utf-8") as out:
            out.writelines(lines)
        unfinished.replace(target)
        return target


def read_lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        yield from lines


def first_sentences(lines: Iterable[str], limit: int | None) -> Iterator[str]:
    seen = 0
    for line in lines:
        if limit is not None and seen >= limit:
            return
        yield line
        seen += not line.strip()


def count_tokens(path: Path) -> int:
    return sum(1 for line in read_lines(path) if line.strip())
