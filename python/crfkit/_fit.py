"""What all estimators that minimise an objective share."""

from __future__ import annotations

import json
import math
import os
import warnings
from os import PathLike, fsdecode
from typing import Any, Callable, Mapping, TypeVar

from crfkit import _crfkit
from crfkit._base import Labeller, Worker, check_lengths, floats
from crfkit._progress import reporter
from crfkit.errors import DataError, SettingError


Fit = TypeVar("Fit", bound="Trained[Any]")


class Trained(Labeller[Worker]):
    """Settings, a run, and its result."""

    # Parameters of every estimator.
    objective: str
    optimizer: str
    sigma: float | str | None
    l1: float | str
    passes: int | None
    seed: int
    threads: int | None
    patience: int
    warm_start: bool
    progress: bool | str
    callback: Callable[[dict[str, Any]], Any] | None
    checkpoint: str | bytes | PathLike[str] | PathLike[bytes] | None
    params: dict[str, Any] | None

    def _settings(self, **more: Any) -> str:
        """The settings as JSON; ``None`` is left to the library."""
        if not isinstance(self.params, (Mapping, type(None))):
            raise TypeError(f"params is {self.params!r}: give a dict of settings")
        settings = {
            "objective": self.objective,
            "optimizer": self.optimizer,
            "sigma": 1.0 if self.sigma == "auto" else number("sigma", self.sigma),
            "l1": 0.0 if self.l1 == "auto" else finite("l1", self.l1),
            "choose": {"sigma": self.sigma == "auto", "l1": self.l1 == "auto"},
            "passes": self.passes,
            "seed": self.seed,
            "patience": self.patience,
            **{name: value for name, value in more.items() if value is not None},
        }
        for name, value in (self.params or {}).items():
            if isinstance(value, float) and not math.isfinite(value):
                raise SettingError(f"params has {value} for {name!r}: give a finite number")
        return json.dumps({**settings, **(self.params or {})}, default=_plain)

    # The model that an interrupted run with a checkpoint started from.
    _begun: _crfkit.Model | None

    def _start(self) -> _crfkit.Model | None:
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        # A run that resumes has the start that it had, not the model of its interruption.
        path = self._checkpoint()
        if path is not None and "_begun" in self.__dict__ and os.path.exists(path):
            return self._begun
        return self.model_

    def _checkpoint(self) -> str | None:
        """The path of the checkpoint."""
        try:
            return None if self.checkpoint is None else fsdecode(self.checkpoint)
        except TypeError:
            raise TypeError(f"checkpoint is {self.checkpoint!r}: give the path of a file, or None") from None

    def _run(
        self: Fit, train: Callable[..., dict[str, Any]], *data: Any, keep: dict[str, Any] | None = None, **more: Any
    ) -> Fit:
        """Train by a function of the extension module, and keep the result, with further attributes that belong to it."""
        if self.callback is not None and not callable(self.callback):
            raise TypeError(f"callback is {self.callback!r}: give a function, or None")
        # Calls of ``partial_fit`` have no checkpoint, and leave that of ``fit`` as it is.
        if more.get("checkpoint") is not None:
            self._begun = more["start"]
        with reporter(self.progress, self.callback) as callback:
            run = train(*data, threads=self.threads, callback=callback, **more)
            # At once, so that Ctrl-C cannot come between.
            self.__dict__.update(keep or {})
            self._take(run, more.get("checkpoint"))
        return self

    def _take(self, run: dict[str, Any], checkpoint: str | None) -> None:
        """Keep the result of a run, and raise what ended it early."""
        self.model_ = run["model"]
        self.stop_reason_ = run["stop"]
        self.passes_ = run["passes"]
        self.objective_ = run["objective"]
        columns = list(zip(*run["history"], strict=True)) or [(), (), ()]
        self.history_ = {name: list(column) for name, column in zip(("passes", "objective", "dev_score"), columns, strict=True)}
        self.__dict__.pop("_tagger", None)
        try:
            if checkpoint is not None:
                self._after(run["stop"], checkpoint)
        finally:
            if run["raised"] is not None:
                raise run["raised"]

    def _after(self, stop: str, checkpoint: str) -> None:
        """Forget where a run with a checkpoint began, unless it can be resumed. Warn if it cannot be, although it was interrupted."""
        if stop != "interrupted":
            del self._begun
        elif "auto" in (self.sigma, self.l1) and not os.path.exists(checkpoint):
            message = f"{checkpoint}: the run was interrupted while it chose penalties, and left no checkpoint: fit begins anew"
            warnings.warn(message, RuntimeWarning, stacklevel=5)


def development(X_dev: Any, y_dev: Any) -> tuple[Any, Any] | None:
    """Both parts of the development data, or none."""
    if (X_dev is None) != (y_dev is None):
        raise DataError("give both X_dev and y_dev, or neither")
    if X_dev is None:
        return None
    check_lengths(X_dev, y_dev, ("X_dev", "y_dev"))
    return X_dev, y_dev


def token_weights_of(token_weight: Any, X: Any, what: str = "token_weight") -> list[list[float]] | None:
    """The weights of tokens: a list for each sequence."""
    if token_weight is None:
        return None
    if isinstance(token_weight, str) or not hasattr(token_weight, "__iter__"):
        raise TypeError(f"{what} is {token_weight!r}: give a list of numbers for each sequence")
    weights = [floats(of_sequence, f"{what}[{k}]") for k, of_sequence in enumerate(token_weight)]
    if len(weights) != len(X):
        raise DataError(f"X has {len(X)} sequences, but {what} has {len(weights)}: give weights for each of them")
    return weights


def text_of(name: str, value: Any) -> str | None:
    """A text, or none."""
    if not isinstance(value, (str, type(None))):
        raise TypeError(f"{name} is {value!r:.60}: give a string, or None")
    return value


def label_weights_of(class_weight: Any) -> list[tuple[str, float]] | None:
    """The weights of labels, by name."""
    if class_weight is None:
        return None
    try:
        return [(str(label), float(weight)) for label, weight in class_weight.items()]
    except (AttributeError, TypeError, ValueError):
        raise TypeError(f"class_weight is {class_weight!r}: give a dict from labels to numbers") from None


def number(name: str, value: Any) -> float | None:
    """A number for the settings. Infinity, and ``None``, mean that there is no prior."""
    if value is None:
        return None
    found = finite_or_infinite(name, value)
    return None if math.isinf(found) else found


def finite(name: str, value: Any) -> float:
    """A finite number for the settings."""
    found = finite_or_infinite(name, value)
    if math.isinf(found):
        raise SettingError(f"{name} is {found}: give a finite number")
    return found


def finite_or_infinite(name: str, value: Any) -> float:
    """A number that may be infinite."""
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} is {value!r}: give a number")
    try:
        found = float(value)
    except OverflowError:
        raise SettingError(f"{name} is too large: give a smaller number") from None
    if math.isnan(found):
        raise SettingError(f"{name} is not a number")
    return found


def _plain(value: Any) -> Any:
    """NumPy's numbers, which the parameters of a search often are, as Python's."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{value!r} ({type(value).__name__}) is not a setting")
