"""What scikit-learn expects of an estimator, without importing scikit-learn."""

from __future__ import annotations

import inspect
import math
from typing import Any, Generic, Iterable, Sequence, TypeVar

import numpy as np

from crfkit import _crfkit
from crfkit._routing import Routing
from crfkit.errors import DataError, NotFittedError, SettingError

# The class of workers that label with a model, and an estimator.
Worker = TypeVar("Worker")
Own = TypeVar("Own", bound="Labeller[Any]")


class Estimator(Routing):
    """Parameters are the keywords of ``__init__``, stored under their names and checked by ``fit``."""

    _estimator_type = "classifier"

    def _store(self, given: dict[str, Any]) -> None:
        """Store the parameters: ``__init__`` calls it with its ``locals()``."""
        # Not by the signature, which may be that of a subclass.
        for name, value in given.items():
            if name not in ("self", "__class__"):
                setattr(self, name, value)

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        """The parameters of ``__init__``. One that passes ``**keywords`` on has those of the class that it inherits from too."""
        found: dict[str, inspect.Parameter] = {}
        for base in cls.__mro__:
            if "__init__" not in vars(base):
                continue
            own = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
            named = [parameter for parameter in own if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)]
            found = {parameter.name: parameter for parameter in named} | found
            if all(parameter.kind != parameter.VAR_KEYWORD for parameter in own):
                break
        return found

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(cls._parameters())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, and return the estimator."""
        known = self._parameter_names()
        for name, value in params.items():
            if name not in known:
                raise SettingError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = self._parameters()
        # As text, since arrays have no single answer to whether they are equal.
        given = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and repr(value) != repr(defaults[name].default)
        )
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:
        # scikit-learn calls this method, so it is there.
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, one_d_labels=False),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=False),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "model_", None) is not None

    def _check_is_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} has no model yet: call fit first")


class Labeller(Estimator, Generic[Worker]):
    """An estimator whose model labels by a worker."""

    model_: _crfkit.Model

    def _worker(self, model: _crfkit.Model) -> Worker:
        """A worker that labels with the model."""
        raise NotImplementedError

    @classmethod
    def from_model(cls: type[Own], model: _crfkit.Model, **params: Any) -> Own:
        """A fitted estimator of a model that was loaded. A model of another kind is a ``SettingError``."""
        if not isinstance(model, _crfkit.Model):
            raise TypeError(f"model is {model!r:.60}: give a Model")
        estimator = cls(**params)
        estimator._tagger = estimator._worker(model)
        estimator.model_ = model
        return estimator

    @property
    def tagger_(self) -> Worker:
        """The worker that labels with this model."""
        self._check_is_fitted()
        if "_tagger" not in self.__dict__:
            self._tagger = self._worker(self.model_)
        return self._tagger

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tagger"}


class Labels(Labeller[_crfkit.Tagger]):
    """An estimator that gives each token of a sequence one label."""

    threads: int | None

    # The kind of its models.
    _kind: str

    def _worker(self, model: _crfkit.Model) -> _crfkit.Tagger:
        if model.kind != self._kind:
            raise SettingError(f"{type(self).__name__} takes models of kind {self._kind!r}, but this one is of kind {model.kind!r}")
        return model.tagger()

    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """The labels of sequences: a 1-D array of lists."""
        return object_array(self.tagger_.label_lists(X, threads=self.threads))

    def predict_marginals(self, X: Sequence[Any]) -> list[np.ndarray]:
        """The probability of each label at each token: an array (tokens, labels) for each sequence."""
        return [tagged.marginals for tagged in self.tagger_.tag_many(X, threads=self.threads)]

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Iterable[float] | None = None) -> float:
        """The share of tokens whose label is right. ``sample_weight`` has a number for each sequence. Tokens without a label do not count."""
        check_lengths(X, y)
        return share_of_right(self.predict(X), y, sample_weight)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of the columns of ``predict_marginals``."""
        self._check_is_fitted()
        return np.array(self.model_.labels)


def share_of_right(found: Iterable[Any], y: Sequence[Any], sample_weight: Iterable[float] | None = None) -> float:
    """The share of tokens whose labels are right."""
    weights = weights_of(sample_weight, y) or [1.0] * len(y)
    right = total = 0.0
    for number, (labels, gold) in enumerate(zip(found, y)):
        if len(labels) != len(gold):
            raise DataError(f"X[{number}] has length {len(labels)}, but y[{number}] has length {len(gold)}: give one label for each token")
        if not is_list(gold):
            raise TypeError(f"y[{number}] is {gold!r:.60}: give a list with a label per token")
        # A label that is not known is None or masked, and one of several is a collection.
        known = [
            (a, b, f"y[{number}][{token}]")
            for token, (a, b) in enumerate(zip(labels, gold))
            if b is not None and b is not np.ma.masked
        ]
        right += weights[number] * sum(_is_right(*pair) for pair in known)
        total += weights[number] * len(known)
    return float(right / total) if total else 1.0


def _is_right(found: Any, gold: Any, name: str) -> bool:
    """Whether a label is that of the data, which the user calls by this name, or one of those that it allows."""
    if isinstance(gold, bytes):
        gold = gold.decode()
    if not isinstance(gold, str) and not hasattr(gold, "__contains__"):
        raise TypeError(f"{name} is {gold!r:.60} ({type(gold).__name__}): labels are strings")
    return bool(found == gold or (not isinstance(gold, str) and found in gold))


def known_labels(labels: Any) -> Any:
    """Labels that may be missing, as objects: ``None`` for one that is not known, a set for one of several."""

    def known(label: Any) -> Any:
        if label is np.ma.masked:
            return None
        if not isinstance(label, str):
            return label
        several = set(label.split("|")) - {""}
        return None if "?" in several else several if "|" in label else label

    return labels if isinstance(labels, str) else [known(label) for label in labels]


def is_list(value: Any) -> bool:
    """Whether a value may be a list of things in order: no text, dict or set, and no table, which would be a list of its columns."""
    return not isinstance(value, (str, bytes, dict, set, frozenset)) and type(value).__name__ != "DataFrame"


def check_lengths(X: Any, y: Any, what: tuple[str, str] = ("X", "y")) -> None:
    """Raise an error unless both are collections of one length, with at least one sequence."""
    for name, value in zip(what, (X, y)):
        if not is_list(value) or not hasattr(value, "__len__"):
            raise TypeError(f"{name} is {type(value).__name__}: give a list of sequences")
    if len(X) != len(y):
        raise DataError(f"{what[0]} has {len(X)} sequences, but {what[1]} has {len(y)}: give labels for each of them")
    if len(X) == 0:
        raise DataError(f"{what[0]} is empty: give at least one")


def weights_of(sample_weight: Any, X: Any, what: str = "sequences") -> list[float] | None:
    """The weights of sequences, images or graphs, one for each."""
    if sample_weight is None:
        return None
    weights = floats(sample_weight, "sample_weight")
    if len(weights) != len(X):
        raise DataError(f"X has {len(X)} {what}, but sample_weight has length {len(weights)}: give one number for each")
    for number, weight in enumerate(weights):
        if not (math.isfinite(weight) and weight >= 0):
            raise DataError(f"sample_weight[{number}] is {weight}, which is not a finite number of at least 0")
    return weights


def floats(values: Any, name: str) -> list[float]:
    """A list of numbers that the user calls by this name."""
    if isinstance(values, np.ma.MaskedArray):
        unmasked(values, name)
    try:
        if not isinstance(values, (str, bytes)):
            return [float(value) for value in values]
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name} is {values!r:.60}: give a list of numbers")


def real_array(values: Any, name: str) -> np.ndarray:
    """An array of numbers that the user calls by this name."""
    unmasked(values, name)
    try:
        given = np.asarray(values)
        if given.dtype.kind not in "biufO":
            raise TypeError("its numbers are complex" if given.dtype.kind == "c" else f"its values are of type {given.dtype}")
        if given.dtype.kind == "O" and any(value is None for value in given.flat):
            raise TypeError("it has None, which NumPy would take for nan")
        return np.asarray(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} is not an array of numbers: {error}") from None


def unmasked(values: Any, name: str) -> None:
    """Raise an error if values of an array, or of one in a list, are masked: NumPy would forget it and take what is behind the mask."""
    arrays = values if isinstance(values, (list, tuple)) else [values]
    if any(isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array) for array in arrays):
        raise DataError(f"{name} has masked values, which are not known: fill them, as numpy.ma.filled does")


def each_of(values: Any, name: str, what: str) -> list[Any]:
    """The images or graphs of a collection, or their weights, that the user calls by this name."""
    if not is_list(values) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} is {type(values).__name__}: give a list of {what}")
    return list(values)


def object_array(items: list[Any]) -> np.ndarray:
    """A 1-D array of objects, also where all of them have the same length."""
    array = np.empty(len(items), dtype=object)
    for number, item in enumerate(items):
        array[number] = item
    return array
