"""Reads CRFsuite's log, piece by piece, and tells what happens."""

from __future__ import annotations

import fractions
import re
from typing import Any, NamedTuple


class LabelScore(NamedTuple):
    """The scores of one label on held-out data."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_NUMBER = r"(\d+\.\d+)"
# Lines of an iteration: the name of a value, how the line begins, and the type of the value.
_VALUES: list[tuple[str, str, Any]] = [
    ("loss", "Loss: " + _NUMBER, float),
    ("feature_norm", "Feature norm: " + _NUMBER, float),
    ("error_norm", "Error norm: " + _NUMBER, float),
    ("active_features", r"Active features: (\d+)", int),
    ("linesearch_trials", r"Line search trials: (\d+)", int),
    ("linesearch_step", "Line search step: " + _NUMBER, float),
    ("time", "Seconds required for this iteration: " + _NUMBER, float),
]
_SCORES = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \((\*{6}|\d\.\d+), (\*{6}|\d\.\d+), (\*{6}|\d\.\d+)\)")
_AVERAGES = re.compile(r"Macro-average precision, recall, F1: \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile("Seconds required: " + _NUMBER)


class TrainLogParser:
    """Feed it the pieces of a log; ``feed`` returns the name of the event that a piece completes, or ``None``."""

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        # Name, first piece and end of each event.
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Take the next piece."""
        self.log.append(line)
        if self.state is None:
            self.state = "STARTING"
            self._starting(line)
            self.events.append(("start", 0, 1))
            return "start"
        event = {
            "STARTING": self._starting,
            "FEATGEN": self._featgen,
            "AFTER_FEATGEN": self._after_featgen,
            "ITERATION": self._iteration,
            "AFTER_ITERATION": self._after_iteration,
            "STORING": self._storing,
        }[self.state](line)
        if event is not None:
            # These are known only from the first piece of what follows.
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, self.events[-1][2], end))
        return event

    @property
    def last_log(self) -> str:
        """The text of the last event."""
        _, start, end = self.events[-1]
        return "".join(self.log[start:end])

    def _starting(self, line: str) -> str | None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"
        return None

    def _featgen(self, line: str) -> str | None:
        if line == "." or line.isdigit():
            self.featgen_percent += 2
            return "featgen_progress"
        if found := re.match(r"Number of features: (\d+)", line):
            self.featgen_num_features = int(found.group(1))
        elif found := _SECONDS.match(line):
            self.featgen_seconds = float(found.group(1))
            self.state = "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _after_featgen(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._iteration(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _iteration(self, line: str) -> str | None:
        if found := _HEAD.match(line):
            self.state = "ITERATION"
            self.last_iteration = {"num": int(found.group(1)), "scores": {}}
            self.iterations.append(self.last_iteration)
            return None
        if line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        now = self.last_iteration
        assert now is not None
        for name, pattern, kind in _VALUES:
            if found := re.match(pattern, line):
                now[name] = kind(found.group(1))
        if found := _AVERAGES.match(line):
            now["avg_precision"], now["avg_recall"], now["avg_f1"] = (float(number) for number in found.groups())
        if found := _ACCURACY.match(line):
            name = f"{found.group(1).lower()}_accuracy"
            now[name] = fractions.Fraction(int(found.group(2)), int(found.group(3)))
            now[name + "_float"] = float(now[name])
        if found := _SCORES.match(line):
            counts = [int(number) for number in found.groups()[1:4]]
            shares = [None if share.startswith("*") else float(share) for share in found.groups()[4:]]
            now["scores"][found.group(1)] = LabelScore(*counts, *shares)
        return None

    def _after_iteration(self, line: str) -> str | None:
        if _HEAD.match(line):
            return self._iteration(line)
        if found := re.match("Total seconds required for training: " + _NUMBER, line):
            self.training_seconds = float(found.group(1))
        if line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        if line == "\n":
            return "end"
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found.group(1))
        return None
