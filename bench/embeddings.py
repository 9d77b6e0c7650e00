"""Words with vectors of 300 numbers, as embeddings give them: data of our own.

Each word has a label that it mostly takes, and a vector: the mean of that label, drawn once, plus noise. A word has the same vector wherever it occurs.
Labels follow one another by a random table.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from letters import write_rows

WIDTH, LABELS, WORDS = 300, 22, 2000
OWN_LABEL = 0.85

Vector = list[float]


def vocabulary() -> tuple[list[Vector], list[list[int]]]:
    """The vectors of all words, with three digits, and the words of each label."""
    draw = random.Random(1)
    means = [[draw.gauss(0, 0.3) for _ in range(WIDTH)] for _ in range(LABELS)]
    vectors, words = [], [[] for _ in range(LABELS)]
    for word in range(WORDS):
        label = word % LABELS
        words[label].append(word)
        vectors.append([round(draw.gauss(mean, 1), 3) for mean in means[label]])
    return vectors, words


def sentences(count: int, seed: int) -> Iterator[list[tuple[str, Vector]]]:
    """Words and table are the same for every seed; the sentences are not."""
    (vectors, words), table = vocabulary(), random.Random(2)
    follows = [table.sample(range(LABELS), 4) for _ in range(LABELS)]
    draw = random.Random(seed)
    for _ in range(count):
        label = draw.randrange(LABELS)
        sentence = []
        for _ in range(draw.randint(10, 30)):
            word = draw.choice(words[label]) if draw.random() < OWN_LABEL else draw.randrange(WORDS)
            sentence.append((f"L{label}", vectors[word]))
            label = draw.choice(follows[label]) if draw.random() < 0.8 else draw.randrange(LABELS)
        yield sentence


def attribute_lines(count: int, seed: int) -> Iterator[str]:
    """Each number is the value of an attribute."""
    for sentence in sentences(count, seed):
        for label, vector in sentence:
            yield "\t".join([label, *(f"d{place}:{x}" for place, x in enumerate(vector))]) + "\n"
        yield "\n"


def column_lines(count: int, seed: int) -> Iterator[str]:
    """The text beside the vectors: there is nothing to see but the vector."""
    for sentence in sentences(count, seed):
        yield from (f"?\t{label}\n" for label, _ in sentence)
        yield "\n"


def write_matrix(path: Path, count: int, seed: int) -> None:
    write_rows(path, WIDTH, [vector for sentence in sentences(count, seed) for _, vector in sentence])
