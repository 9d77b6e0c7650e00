"""What the peers share: reading attribute lines and scoring chunks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ESCAPED = re.compile(r"\\([:\\])")


def unescape(field: str) -> str:
    """The name behind one field of an attribute line; a value other than 1 is not needed here and is refused."""
    if "\\" in field:
        return ESCAPED.sub(r"\1", field)
    if ":" in field:
        raise ValueError(f"attribute with a value: {field!r}; the benchmark's files have none")
    return field


def read_attributes(path: Path) -> Iterator[tuple[list[list[str]], list[str]]]:
    """(attribute names of each token, labels) of each sentence; one sentence in memory at a time."""
    items: list[list[str]] = []
    labels: list[str] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            label, *attributes = line.rstrip("\n").split("\t")
            if label:
                labels.append(label)
                items.append([unescape(attribute) for attribute in attributes])
            elif labels:
                yield items, labels
                items, labels = [], []
    if labels:
        yield items, labels


def chunks(labels: list[str]) -> set[tuple[str, int, int]]:
    """(type, first token, last token + 1) by conlleval's rules: I- after another type or after O opens a chunk too."""
    found = set()
    kind, start = "", 0
    for at, label in enumerate([*labels, "O"]):
        prefix, _, type_here = label.partition("-")
        if kind and (prefix != "I" or type_here != kind):
            found.add((kind, start, at))
            kind = ""
        if prefix != "O" and not kind:
            kind, start = type_here, at
    return found


def score(pairs: Iterable[tuple[list[str], list[str]]]) -> dict[str, float]:
    """Chunk F1 and token accuracy, in per cent, of (gold labels, predicted labels) of each sentence."""
    gold_chunks = found_chunks = correct_chunks = tokens = correct_tokens = 0
    for gold, predicted in pairs:
        in_gold, in_predicted = chunks(gold), chunks(predicted)
        gold_chunks += len(in_gold)
        found_chunks += len(in_predicted)
        correct_chunks += len(in_gold & in_predicted)
        tokens += len(gold)
        correct_tokens += sum(map(str.__eq__, gold, predicted))
    return {
        "f1": 200 * correct_chunks / max(gold_chunks + found_chunks, 1),
        "accuracy": 100 * correct_tokens / max(tokens, 1),
    }
