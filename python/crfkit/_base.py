"""What scikit-learn expects of an estimator, without importing scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from crfkit.errors import DataError, NotFittedError, SettingError


class Estimator:
    """Parameters are the keywords of ``__init__``, stored under their names and checked by ``fit``."""

    _estimator_type = "classifier"

    @classmethod
    def _parameter_names(cls) -> list[str]:
        signature = inspect.signature(cls.__init__)
        return sorted(name for name in signature.parameters if name != "self")

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
        defaults = inspect.signature(type(self).__init__).parameters
        given = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name].default and value != defaults[name].default
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


def check_lengths(X: Any, y: Any, what: tuple[str, str] = ("X", "y")) -> None:
    """Raise an error unless both are collections of one length, with at least one sequence."""
    for name, value in zip(what, (X, y)):
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__len__"):
            raise TypeError(f"{name} is {type(value).__name__}: give a list of sequences")
    if len(X) != len(y):
        raise DataError(f"{what[0]} has {len(X)} sequences, but {what[1]} has {len(y)}: give labels for each of them")
    if len(X) == 0:
        raise DataError(f"{what[0]} is empty: there is nothing to learn from")


def object_array(items: list[Any]) -> np.ndarray:
    """A 1-D array of objects, also where all of them have the same length."""
    array = np.empty(len(items), dtype=object)
    for number, item in enumerate(items):
        array[number] = item
    return array
