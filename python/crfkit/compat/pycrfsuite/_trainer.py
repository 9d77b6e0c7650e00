"""Training to a model file."""

from __future__ import annotations

from typing import Any

from crfkit import _crfkit
from crfkit.compat._parameters import DEFAULTS, algorithm_name, converted, settings
from crfkit.errors import CrfkitError


class CRFSuiteError(CrfkitError):
    """Training failed."""


class BaseTrainer:
    """Collects sequences and trains a model on them. ``message`` receives the log, piece by piece."""

    _algorithm: str
    _given: dict[str, Any]
    _groups: list[int]
    _x: list[list[Any]]
    _y: list[list[str]]

    def __new__(cls, *_args: Any, **_kwargs: Any) -> BaseTrainer:
        # Subclasses need not call __init__.
        self = super().__new__(cls)
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
        """Choose the training algorithm: lbfgs, l2sgd or ap."""
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
        """Set a parameter. An unknown name or a value that is no number raises ``ValueError``."""
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
        """Receives the log. Override it."""

    def train(self, model: Any, holdout: int = -1) -> None:
        """Train, and write the model to a file. Sequences of the group ``holdout`` are development data."""
        train = [k for k, group in enumerate(self._groups) if group != holdout]
        held = [k for k, group in enumerate(self._groups) if group == holdout]
        if not any(self._y[k] for k in train):
            raise CRFSuiteError("there is no sequence to train on: call append first")
        self.message("type: CRF1d\n")
        self.message(f"Number of instances: {len(train)}\n")

        def report(state: dict[str, Any]) -> None:
            if state["objective"] is not None:
                self.message(f"passes {state['passes']:.1f}: objective {state['objective']:.6f}\n")
            elif state["dev_score"] is not None:
                self.message(f"passes {state['passes']:.1f}: development score {state['dev_score']:.2f}\n")

        run = _crfkit.train(
            [self._x[k] for k in train],
            [self._y[k] for k in train],
            settings(self._algorithm, self._given),
            dev=([self._x[k] for k in held], [self._y[k] for k in held]) if held else None,
            callback=report,
        )
        if run["raised"] is not None:
            raise run["raised"]
        self.message(f"Training ended: {run['stop']}\n")
        run["model"].save(model)


class Trainer(BaseTrainer):
    """A trainer that prints its log if it is verbose."""

    def message(self, message: str) -> None:
        """Prints the log."""
        if getattr(self, "verbose", True):
            print(message, end="")
