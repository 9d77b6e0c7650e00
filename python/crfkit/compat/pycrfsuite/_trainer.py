"""Training to a model file."""

from __future__ import annotations

import os
from typing import Any

from crfkit import _crfkit
from crfkit.compat._fit import fit, order_of_appearance
from crfkit.compat._parameters import DEFAULTS, algorithm_name, converted, used
from crfkit.compat.pycrfsuite._log import Log
from crfkit.compat.pycrfsuite._logparser import TrainLogParser
from crfkit.errors import CrfkitError


class CRFSuiteError(CrfkitError):
    """Training failed."""


class BaseTrainer:
    """Collects sequences and trains a model on them. ``message`` receives the log, piece by piece."""

    verbose: bool
    _algorithm: str
    _given: dict[str, Any]
    _groups: list[int]
    _x: list[list[Any]]
    _y: list[list[str]]
    # The file of the model that was trained last.
    _trained: bytes

    def __new__(cls, *_args: Any, **_kwargs: Any) -> BaseTrainer:
        # Subclasses need not call __init__.
        self = super().__new__(cls)
        self.verbose = True
        self._algorithm = "lbfgs"
        self._given = {}
        self._groups = []
        self._x, self._y = [], []
        return self

    def __init__(self, algorithm: str | None = None, params: dict[str, Any] | None = None, verbose: bool = True) -> None:
        self.verbose = verbose
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the training algorithm: lbfgs, l2sgd, ap, pa or arow."""
        if type != "crf1d":
            raise ValueError(f"Bad arguments: type={type!r}; choose crf1d")
        self._algorithm, self._given = algorithm_name(algorithm), {}

    def append(self, xseq: Any, yseq: Any, group: int = 0) -> None:
        """Add a sequence with its labels. Groups serve to hold data out."""
        x, y = list(xseq), list(yseq)
        if len(x) != len(y):
            raise ValueError(f"The numbers of items and labels differ: |x| = {len(x)}, |y| = {len(y)}")
        self._x.append(x)
        self._y.append(y)
        self._groups.append(group)

    def clear(self) -> None:
        """Forget the sequences."""
        self._x, self._y, self._groups = [], [], []

    def params(self) -> list[str]:
        """The names of the parameters of the algorithm."""
        return list(DEFAULTS[self._algorithm])

    def set(self, name: str, value: Any) -> None:
        """Set a parameter. An unknown name or a value that is not a number raises ``ValueError``."""
        self._given[name] = converted(name, value, self._default(name))

    def set_params(self, params: dict[str, Any]) -> None:
        """Set parameters by name."""
        for name, value in params.items():
            self.set(name, value)

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        return self._given.get(name, self._default(name))

    def get_params(self) -> dict[str, Any]:
        """All parameters with their values."""
        return {name: self.get(name) for name in self.params()}

    def help(self, name: str) -> str:
        """The description of a parameter."""
        self._default(name)
        return DEFAULTS[self._algorithm][name][1]

    def _default(self, name: str) -> Any:
        if name not in DEFAULTS[self._algorithm]:
            names = ", ".join(self.params())
            raise ValueError(f"Parameter not found: {name}; {self._algorithm} has {names}")
        return DEFAULTS[self._algorithm][name][0]

    def message(self, message: str) -> None:
        """Receives the log. It prints it, unless the trainer is not verbose; override it for something else."""
        if self.verbose:
            print(message, end="")

    def _before_train(self) -> None:
        pass

    def train(self, model: Any, holdout: int = -1) -> None:
        """Train, and write the model as a file of CRFsuite. Sequences of the group ``holdout`` are development data.

        If ``model`` is empty, no file is written.
        """
        self._train(holdout)
        if model:
            self._save(model)

    def _save(self, path: Any) -> None:
        """Write the trained model. A new file is for its owner to change, and for nobody else."""
        new = not os.path.exists(path)
        _crfkit.write_file(path, self._trained)
        if new:
            os.chmod(path, os.stat(path).st_mode & ~0o022)

    def _train(self, holdout: int) -> bytes:
        """Train, and return the file of the model."""
        self._before_train()
        # Sequences without tokens say nothing.
        train = [k for k, group in enumerate(self._groups) if group != holdout and self._y[k]]
        held = [k for k, group in enumerate(self._groups) if group == holdout]
        log = Log(self.message, self._algorithm, used(self._algorithm, self._given))
        log.start(holdout)
        x, y = [self._x[k] for k in train], [self._y[k] for k in train]
        if not y:
            # As CRFsuite, which writes an empty model.
            self._trained = _crfkit.empty_crfsuite()
            log.end("L-BFGS terminated with error code (-1020)")
            log.stored(0, 0, 0)
            return self._trained
        held_x, held_y = [self._x[k] for k in held], [self._y[k] for k in held]
        dev = (held_x, held_y) if any(held_y) else None
        # What calibration says comes before the features are known, and no reader of logs needs it.
        calibration: list[str] = []
        run, ended = fit(
            self._algorithm, self._given, x, y, dev=dev, report=log.iteration, tell=calibration.append
        )
        trained = run["model"]
        labels = order_of_appearance(y, trained.labels)
        if dev is not None and log.open:
            log.scores(labels, held_y, trained.tagger().label_lists(held_x))
        log.end(_ending(self._algorithm, run["stop"], ended))
        self._trained = trained.to_crfsuite(labels)
        attributes, _, _, weights = trained.coefficients()
        log.stored(int((weights != 0).sum() + (trained.transitions() != 0).sum()), len(attributes), len(labels))
        return self._trained


def _ending(algorithm: str, stop: str, ended: str | None) -> str:
    """The line that says why training ended."""
    name = {"lbfgs": "L-BFGS", "l2sgd": "SGD"}.get(algorithm)
    if name is None:
        return "Terminated with the stopping criterion" if ended else ""
    if ended == "criterion":
        return f"{name} terminated with the stopping criteria"
    if ended == "iterations" or "passes" in stop:
        return f"{name} terminated with the maximum number of iterations"
    return f"{name} resulted in convergence"


class Trainer(BaseTrainer):
    """A trainer that reads its own log: ``logparser`` has the iterations, and the methods ``on_...`` are called as things happen."""

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Reads the log, and calls the method for what has happened, unless the trainer is not verbose."""
        if self.logparser is None:
            self._before_train()
        parser = self.logparser
        assert parser is not None
        event = parser.feed(message)
        if event is None or not self.verbose:
            return
        log = parser.last_log
        if event == "featgen_progress":
            self.on_featgen_progress(log, parser.featgen_percent)
        elif event == "iteration":
            self.on_iteration(log, parser.last_iteration)
        else:
            getattr(self, f"on_{event}")(log)

    def on_start(self, log: str) -> None:
        """Training starts."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Features are generated."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """The features are generated."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """The first iteration begins."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """No iteration can begin."""
        print(log, end="")

    def on_iteration(self, log: str, info: Any) -> None:
        """An iteration is done; ``info`` has its numbers."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """The last iteration is done."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """The model is written."""
        print(log, end="")
