"""Wapiti's C code, through libwapiti. Run as `python -m peers.wapiti train ...`; prints one JSON object."""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import IO

import wapiti

from chunking_attributes import TEMPLATES, read_sentences
from peers.text import score

PROGRESS = re.compile(rb"\[ *\d+\] +obj=([0-9.]+)")


@contextmanager
def standard_error_to(file: IO[bytes]) -> Iterator[None]:
    """Wapiti's library tells its objective only in progress lines that its C code writes to standard error."""
    saved = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def patterns() -> str:
    """The templates of the attribute files as Wapiti patterns, and the label bigram."""
    lines = []
    for number, (column, start, width) in enumerate(TEMPLATES):
        macros = "/".join(f"%x[{start + i},{column}]" for i in range(width))
        lines.append(f"U{number:02}:{macros}")
    return "\n".join([*lines, "B"]) + "\n"


def sentences(path: Path) -> Iterator[list[list[str]]]:
    with path.open(encoding="utf-8") as lines:
        yield from read_sentences(lines)


def columns_text(sentence: list[list[str]]) -> str:
    return "\n".join(" ".join(token) for token in sentence)


def train(options: argparse.Namespace) -> dict:
    """Penalty rho2/2·‖w‖², L-BFGS, one thread, Wapiti's own stopping rule (the error rate on the training set settles)."""
    started = perf_counter()
    settings = {"maxiter": options.iterations} if options.iterations else {}
    model = wapiti.Model(patterns=patterns(), nthread=1, algo="l-bfgs", rho1=0.0, rho2=options.rho2, **settings)
    for sentence in sentences(options.train):
        model.add_training_sequence(columns_text(sentence))
    with tempfile.TemporaryFile() as progress:
        with standard_error_to(progress):
            model.train()
        trained = perf_counter()
        progress.seek(0)
        objectives = [float(found) for found in PROGRESS.findall(progress.read())]
    return {
        "seconds": trained - started,
        "objective": objectives[-1],
        "iterations": len(objectives),
        "features": model._model.contents.nftr,
        **evaluate(model, options.test),
    }


def evaluate(model: wapiti.Model, test: Path) -> dict[str, float]:
    def pairs() -> Iterator[tuple[list[str], list[str]]]:
        for sentence in sentences(test):
            gold = [token[-1] for token in sentence]
            text = columns_text([token[:-1] for token in sentence])
            yield gold, model.label_sequence(text).decode().split()

    return score(pairs())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    command = parser.add_subparsers(required=True).add_parser("train")
    command.add_argument("train", type=Path)
    command.add_argument("test", type=Path)
    command.add_argument("--rho2", type=float, required=True)
    command.add_argument("--iterations", type=int, default=0, help="0: no limit")
    print(json.dumps(train(parser.parse_args())))


if __name__ == "__main__":
    main()
