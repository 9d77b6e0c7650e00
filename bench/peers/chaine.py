"""chaine's wrapper around CRFsuite's C code. Run as `python -m peers.chaine tag ...`; prints one JSON object.

Its trainer is CRFsuite's, so only its tagger, whose way into the C code is its own, is worth a measurement.
"""

from __future__ import annotations

import argparse
import gc
import json
from pathlib import Path
from time import perf_counter

import chaine

from chunking_attributes import read_sentences, sentence_attributes


def tag(options: argparse.Namespace) -> dict:
    """Tokens per second from dictionaries of attributes made beforehand; the model is python-crfsuite's file."""
    model = chaine.Model(str(options.model))
    with options.columns.open(encoding="utf-8") as lines:
        sequences = [
            [dict.fromkeys(names, 1.0) for names in sentence_attributes(sentence, padded=True)]
            for sentence in read_sentences(lines)
        ]
    tokens = sum(map(len, sequences))
    gc.disable()  # spares the peer the collector's walks over the dictionaries above
    samples = []
    for _ in range(options.repeat):
        started = perf_counter()
        model.predict(sequences)
        samples.append(tokens / (perf_counter() - started))
    return {"tokens_per_second": samples}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    command = parser.add_subparsers(required=True).add_parser("tag")
    command.add_argument("model", type=Path)
    command.add_argument("columns", type=Path)
    command.add_argument("--repeat", type=int, default=3)
    print(json.dumps(tag(parser.parse_args())))


if __name__ == "__main__":
    main()
