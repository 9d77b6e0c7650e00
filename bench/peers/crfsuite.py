"""CRFsuite's C code, through python-crfsuite. Run as `python -m peers.crfsuite COMMAND ...`; prints one JSON object."""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter

import pycrfsuite

from chunking_attributes import read_sentences, sentence_attributes
from peers.text import read_attributes, score

UNLIMITED = 2**31 - 1  # CRFsuite's own default for max_iterations


def train(options: argparse.Namespace) -> dict:
    started = perf_counter()
    params = {"c1": options.c1, "c2": options.c2, "max_iterations": options.iterations}
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params=params, verbose=False)
    for items, labels in read_attributes(options.attributes):
        trainer.append(items, labels)
    read = perf_counter()
    trainer.train(str(options.model))
    trained = perf_counter()
    log = trainer.logparser
    return {
        "reading_seconds": read - started,
        "training_seconds": trained - read,
        # CRFsuite's own clock of an iteration is CPU time; an iteration is one evaluation unless its line search repeats.
        "iterations": [
            {"seconds": each["time"], "evaluations": each["linesearch_trials"], "objective": each["loss"]}
            for each in log.iterations
        ],
        "objective": log.last_iteration["loss"],
        "features": log.featgen_num_features,
    }


def evaluate(options: argparse.Namespace) -> dict:
    tagger = open_tagger(options.model)
    return score((labels, tagger.tag(items)) for items, labels in read_attributes(options.attributes))


def open_tagger(model: Path) -> pycrfsuite.Tagger:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    return tagger


def tag(options: argparse.Namespace) -> dict:
    """Tokens per second from items already in CRFsuite's own form, from lists of strings, or from column text."""
    tagger = open_tagger(options.model)
    lists = list(column_attributes(options.columns))
    tokens = sum(map(len, lists))
    if options.source == "items":
        sequences = [pycrfsuite.ItemSequence(items) for items in lists]
    else:
        sequences = lists
    gc.disable()  # spares the peer the collector's walks over the lists above

    def tag_all() -> None:
        for sequence in column_attributes(options.columns) if options.source == "columns" else sequences:
            tagger.tag(sequence)

    return {"tokens_per_second": [tokens / seconds(tag_all) for _ in range(options.repeat)]}


def column_attributes(path: Path) -> Iterator[list[list[str]]]:
    with path.open(encoding="utf-8") as lines:
        for sentence in read_sentences(lines):
            yield sentence_attributes(sentence, padded=True)


def load(options: argparse.Namespace) -> dict:
    return {"load_seconds": [seconds(lambda: open_tagger(options.model)) for _ in range(options.repeat)]}


def idle(_: argparse.Namespace) -> dict:
    """Does nothing: what the interpreter and its modules cost before any work."""
    return {}


def seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)

    command = commands.add_parser("train")
    command.add_argument("attributes", type=Path)
    command.add_argument("model", type=Path)
    command.add_argument("--c1", type=float, default=0.0)
    command.add_argument("--c2", type=float, required=True)
    command.add_argument("--iterations", type=int, default=UNLIMITED)
    command.set_defaults(do=train)

    command = commands.add_parser("evaluate")
    command.add_argument("model", type=Path)
    command.add_argument("attributes", type=Path)
    command.set_defaults(do=evaluate)

    command = commands.add_parser("tag")
    command.add_argument("model", type=Path)
    command.add_argument("columns", type=Path)
    command.add_argument("--source", choices=["items", "lists", "columns"], required=True)
    command.add_argument("--repeat", type=int, default=3)
    command.set_defaults(do=tag)

    command = commands.add_parser("load")
    command.add_argument("model", type=Path)
    command.add_argument("--repeat", type=int, default=20)
    command.set_defaults(do=load)

    commands.add_parser("idle").set_defaults(do=idle)

    options = parser.parse_args()
    print(json.dumps(options.do(options)))


if __name__ == "__main__":
    main()
