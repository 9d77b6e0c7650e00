"""Compares crfkit with python-crfsuite on model files: `python/clients` runs it where both are installed.

Every model file of CRFsuite below the given directories is opened by both. Labels of made-up sequences must be the same, probabilities the same
to 1e-12, and so must those of the file that crfkit writes again, read by python-crfsuite.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import pycrfsuite

import crfkit
from crfkit.compat import pycrfsuite as replacement

SEQUENCES = 200


def is_model(path: Path) -> bool:
    """Whether a file begins like a model of CRFsuite."""
    if not path.is_file() or path.stat().st_size < 48:
        return False
    with path.open("rb") as file:
        return file.read(4) == b"lCRF"


def sequence(names: list[str], numbers: random.Random) -> list[Any]:
    """Tokens with attributes that the model knows, with and without values, and some that it does not know."""
    plain = numbers.random() < 0.5
    tokens: list[Any] = []
    for _ in range(numbers.randint(1, 25)):
        chosen = [numbers.choice(names) for _ in range(numbers.randint(0, 8))]
        tokens.append([*chosen, "not known"] if plain else {name: numbers.gauss(0, 1) for name in chosen})
    return tokens


def compare(path: Path, folder: str) -> float:
    """The largest difference of two probabilities; an error if labels differ."""
    again = os.path.join(folder, "again.crfsuite")
    with open(again, "wb") as file:
        file.write(crfkit.Model.load(path).to_crfsuite())
    original, written, own = pycrfsuite.Tagger(), pycrfsuite.Tagger(), replacement.Tagger()
    original.open(str(path))
    written.open(again)
    own.open(str(path))
    labels, names = original.labels(), list(own.info().attributes)
    assert labels == own.labels() == written.labels(), f"{path}: the labels differ"
    numbers, worst = random.Random(1), 0.0
    for _ in range(SEQUENCES):
        x = sequence(names, numbers)
        found = original.tag(x)
        assert found == own.tag(x) == written.tag(x), f"{path}: labels differ for {x}"
        for position in range(len(x)):
            label = numbers.choice(labels)
            p = original.marginal(label, position)
            worst = max(worst, abs(p - own.marginal(label, position)), abs(p - written.marginal(label, position)))
    assert worst < 1e-12, f"{path}: probabilities differ by {worst}"
    return worst


def main(directories: list[str]) -> int:
    """Compare all models; 1 if there is none."""
    models = sorted({path for directory in directories for path in Path(directory).rglob("*") if is_model(path)})
    with tempfile.TemporaryDirectory() as folder:
        for path in models:
            print(f"{path.name:<40} the same; probabilities differ by at most {compare(path, folder):.1e}")
    return 0 if models else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
