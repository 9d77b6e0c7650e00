"""Labelling with a model file."""

from __future__ import annotations

import contextlib
import math
from typing import Any, NamedTuple

import crfkit
from crfkit._crfkit import Model


class Info(NamedTuple):
    """What is in a model."""

    transitions: dict[tuple[str, str], float]
    state_features: dict[tuple[str, str], float]
    header: dict[str, str]
    labels: dict[str, str]
    attributes: dict[str, str]


class Tagger:
    """A tagger that opens model files."""

    _model: Model | None
    _tagger: crfkit.Tagger | None
    _tagged: crfkit.Tagged | None

    def __new__(cls, *_args: Any, **_kwargs: Any) -> Tagger:
        # Subclasses need not call __init__.
        self = super().__new__(cls)
        self._model = self._tagger = self._tagged = None
        return self

    def open(self, name: Any) -> Any:
        """Open a model file. As a context, it is closed at the end."""
        return self._use(Model.load(name))

    def open_inmemory(self, bytes: bytes) -> Any:
        """Open a model that is in memory."""
        return self._use(Model.from_bytes(bytes))

    def _use(self, model: Model) -> Any:
        self._model, self._tagger, self._tagged = model, model.tagger(), None
        return contextlib.closing(self)

    def close(self) -> None:
        """Close the model."""
        self._model = self._tagger = self._tagged = None

    def labels(self) -> list[str]:
        """The labels of the model."""
        if self._model is None:
            raise ValueError("The model is not opened")
        return self._model.labels

    def tag(self, xseq: Any = None) -> list[str]:
        """The best labels of a sequence, by default of the one that ``set`` was called with."""
        if xseq is not None:
            self.set(xseq)
        return self._current().labels

    def set(self, xseq: Any) -> None:
        """Load a sequence for the questions that follow."""
        if self._tagger is None:
            raise ValueError("The tagger is not opened")
        self._tagged = self._tagger.tag(xseq)

    def _current(self) -> crfkit.Tagged:
        if self._tagger is None:
            raise ValueError("The tagger is not opened")
        if self._tagged is None:
            raise ValueError("no sequence yet: call set or tag first")
        return self._tagged

    def probability(self, yseq: Any) -> float:
        """The probability of a labelling of the current sequence."""
        return math.exp(self._current().log_probability(yseq))

    def marginal(self, y: str, pos: int) -> float:
        """The probability of a label at a token of the current sequence."""
        tagged, labels = self._current(), self.labels()
        if y not in labels:
            raise ValueError(f"Unknown label {y!r}")
        if not 0 <= pos < len(tagged):
            raise ValueError(f"position {pos} is not in the sequence, which has {len(tagged)} tokens")
        return float(tagged.marginals[pos, labels.index(y)])

    def info(self) -> Info:
        """The labels, attributes and weights of the model."""
        if self._model is None:
            raise RuntimeError("The model is not opened")
        labels = self._model.labels
        names, rows, columns, values = self._model.coefficients()
        states = {(names[c], labels[r]): float(v) for r, c, v in zip(rows, columns, values)}
        table = self._model.transitions()
        transitions = {
            (labels[i], labels[j]): float(table[i, j]) for i, j in zip(*table.nonzero())
        }
        header = {"type": "crfkit", "num_features": str(len(states)), "num_labels": str(len(labels))}
        header["num_attrs"] = str(len(names))
        numbers = {label: str(number) for number, label in enumerate(labels)}
        return Info(transitions, states, header, numbers, {name: str(k) for k, name in enumerate(names)})

    def dump(self, filename: Any = None) -> None:
        """Write the model as text, to a file or to the standard output."""
        info = self.info()
        pair = "  ({}) {} --> {}: {:f}".format
        parts = {
            "FILEHEADER": [f"  {name}: {value}" for name, value in info.header.items()],
            "LABELS": [f"  {number}: {name}" for name, number in info.labels.items()],
            "ATTRIBUTES": [f"  {number}: {name}" for name, number in info.attributes.items()],
            "TRANSITIONS": [pair(1, *names, weight) for names, weight in info.transitions.items()],
            "STATE_FEATURES": [pair(0, *names, weight) for names, weight in info.state_features.items()],
        }
        text = "\n".join("\n".join([f"{name} = {{", *lines, "}", ""]) for name, lines in parts.items())
        if filename is None:
            print(text, end="")
        else:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(text)
