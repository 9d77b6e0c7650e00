"""Letters of 16 × 8 black and white pixels that spell words: data of our own, in the form of the usual handwriting task.

Each letter has a shape, drawn once by a random walk; each occurrence is moved by a pixel at most and has a tenth of its pixels turned over.
Letters follow one another by a random table, so that neighbours say something about each other.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path

HEIGHT, WIDTH = 16, 8
LETTERS = "abcdefghijklmnopqrstuvwxyz"
NOISE = 0.1

Word = list[tuple[str, list[int]]]


def shapes(seed: int) -> dict[str, set[tuple[int, int]]]:
    draw = random.Random(seed)
    return {letter: stroke(draw) for letter in LETTERS}


def stroke(draw: random.Random) -> set[tuple[int, int]]:
    row, column = draw.randrange(HEIGHT), draw.randrange(WIDTH)
    inked = set()
    for _ in range(40):
        inked.add((row, column))
        row = min(max(row + draw.choice((-1, 0, 1)), 0), HEIGHT - 1)
        column = min(max(column + draw.choice((-1, 0, 1)), 0), WIDTH - 1)
    return inked


def words(count: int, seed: int) -> Iterator[Word]:
    """Shapes and table are the same for every seed; the words are not."""
    glyphs, table = shapes(1), random.Random(2)
    follows = {letter: table.sample(LETTERS, 4) for letter in LETTERS}
    draw = random.Random(seed)
    for _ in range(count):
        letter = draw.choice(LETTERS)
        word = []
        for _ in range(draw.randint(3, 12)):
            word.append((letter, pixels(glyphs[letter], draw)))
            letter = draw.choice(follows[letter]) if draw.random() < 0.8 else draw.choice(LETTERS)
        yield word


def pixels(glyph: set[tuple[int, int]], draw: random.Random) -> list[int]:
    down, right = draw.choice((-1, 0, 1)), draw.choice((-1, 0, 1))
    places = ((row - down, column - right) in glyph for row in range(HEIGHT) for column in range(WIDTH))
    return [int(black != (draw.random() < NOISE)) for black in places]


def attribute_lines(count: int, seed: int) -> Iterator[str]:
    """A black pixel is an attribute."""
    for word in words(count, seed):
        for letter, image in word:
            yield "\t".join([letter, *(f"p{place}" for place, black in enumerate(image) if black)]) + "\n"
        yield "\n"


def column_lines(count: int, seed: int) -> Iterator[str]:
    """The text beside the vectors: there is nothing to see but the vector."""
    for word in words(count, seed):
        for letter, _ in word:
            yield f"?\t{letter}\n"
        yield "\n"


def write_matrix(path: Path, count: int, seed: int) -> None:
    """The pixels of all letters."""
    write_rows(path, HEIGHT * WIDTH, [image for word in words(count, seed) for _, image in word])


def write_rows(path: Path, width: int, rows: list[list[int]] | list[list[float]]) -> None:
    """A matrix of single-precision numbers, as NumPy saves it."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {width}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    with path.open("wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for row in rows:
            out.write(struct.pack(f"<{width}f", *row))
