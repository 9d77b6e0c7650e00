"""Labelling with a model file."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import crfkit
from crfkit._crfkit import Model
from crfkit.compat.pycrfsuite._dumpparser import ParsedDump
from crfkit.errors import SettingError


class Tagger:
    """A tagger that opens model files, of CRFsuite or of crfkit."""

    _model: Model | None
    _tagger: crfkit.Tagger | None
    _tagged: crfkit.Tagged | None
    # The numbers of the labels, and the probabilities of the current sequence once they are asked for.
    _numbers: dict[str, int]
    _marginals: Any

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
        self._model, self._tagger, self._tagged, self._marginals = model, model.tagger(), None, None
        self._numbers = {label: number for number, label in enumerate(model.labels)}
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
        self._tagged, self._marginals = self._tagger.tag(xseq), None

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
        tagged = self._current()
        if y not in self._numbers:
            raise ValueError(f"Unknown label {y!r}")
        if not 0 <= pos < len(tagged):
            raise ValueError(f"position {pos} is not in the sequence, which has {len(tagged)} tokens")
        if self._marginals is None:
            self._marginals = tagged.marginals
        return float(self._marginals[pos, self._numbers[y]])

    def info(self) -> ParsedDump:
        """The labels, attributes and weights of the model."""
        if self._model is None:
            raise RuntimeError("The model is not opened")
        labels, info = self._model.labels, ParsedDump()
        names, rows, columns, values = self._model.coefficients()
        info.state_features = {(names[c], labels[r]): float(v) for r, c, v in zip(rows, columns, values) if v != 0}
        table = self._model.transitions()
        info.transitions = {(labels[i], labels[j]): float(table[i, j]) for i, j in zip(*table.nonzero())}
        info.labels = {label: str(number) for number, label in enumerate(labels)}
        info.attributes = {name: str(number) for number, name in enumerate(names)}
        try:
            size = len(self._model.to_crfsuite())
        except SettingError:  # a model that only crfkit's own format holds
            size = len(self._model.to_bytes())
        info.header = {
            "magic": "lCRF",
            "size": str(size),
            "type": "FOMC",
            "version": "100",
            "num_features": str(len(info.state_features) + len(info.transitions)),
            "num_labels": str(len(labels)),
            "num_attrs": str(len(names)),
        }
        return info

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
