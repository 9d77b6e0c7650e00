"""The objective of training, for other optimisers."""

from __future__ import annotations

from typing import Any, Iterable, Sequence

import numpy as np

from crfkit import _crfkit
from crfkit._base import check_lengths, real_array
from crfkit._fit import Trained
from crfkit.chain import ChainCRF
from crfkit.errors import DataError, SettingError
from crfkit.graph import GraphCRF
from crfkit.grid import GridCRF

# Keywords of estimators that say how to minimise, not what.
_HOW = ("optimizer", "l1", "passes", "seed", "patience", "warm_start", "progress", "callback", "checkpoint", "decode")


class Objective:
    """The smooth function that training minimises: the losses of all examples plus the Gaussian penalty.

    Make one with ``Objective.chain``, ``Objective.grid`` or ``Objective.graph``; their keywords are those of ``ChainCRF``, ``GridCRF`` and
    ``GraphCRF``. Then let any optimiser minimise it, and turn the weights into a model. The interpreter's lock is released while it works.

    Features that have values are scaled to unit size, as in training; ``params={"scaling": "none"}`` leaves them as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit import Objective
    >>> X = [[{"word": "Ada"}, {"word": "sings"}]]
    >>> objective = Objective.chain(X, [["NAME", "O"]], sigma=1.0)
    >>> theta = np.zeros(objective.dim)
    >>> for _ in range(50):
    ...     value, gradient = objective.value_and_grad(theta)
    ...     theta -= 0.2 * gradient
    >>> objective.model(theta).tagger().tag(X[0]).labels
    ['NAME', 'O']
    """

    def __init__(self, inner: _crfkit.TrainingObjective) -> None:
        self._inner = inner

    @classmethod
    def chain(
        cls,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        sample_weight: Iterable[float] | None = None,
        token_weight: Iterable[Iterable[float]] | None = None,
        **params: Any,
    ) -> Objective:
        """The objective of sequences and their labels; see ``ChainCRF``."""
        estimator = _estimator(ChainCRF, params)
        check_lengths(X, y)
        reading = estimator._reading(X, sample_weight, token_weight)
        return cls(_crfkit.chain_objective(X, y, estimator._settings(), reading, threads=estimator.threads))

    @classmethod
    def grid(
        cls,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        sample_weight: Iterable[float] | None = None,
        pixel_weight: Sequence[Any] | None = None,
        **params: Any,
    ) -> Objective:
        """The objective of images and their labels; see ``GridCRF``."""
        estimator = _estimator(GridCRF, params)
        images, masks, layout = estimator._data(X, y)
        settings = estimator._settings(inference=estimator.inference)
        weights = estimator._weights(X, masks, sample_weight, pixel_weight)
        return cls(_crfkit.grid_objective(images, masks, layout, settings, weights=weights, threads=estimator.threads))

    @classmethod
    def graph(
        cls,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        sample_weight: Iterable[float] | None = None,
        node_weight: Sequence[Any] | None = None,
        **params: Any,
    ) -> Objective:
        """The objective of graphs and the labels of their nodes; see ``GraphCRF``."""
        estimator = _estimator(GraphCRF, params)
        _, graphs, types = estimator._data(X, y, node_weight)
        weights = estimator._weights(X, sample_weight)
        return cls(_crfkit.graph_objective(graphs, types, estimator._settings(), weights=weights, threads=estimator.threads))

    @property
    def dim(self) -> int:
        """Number of weights."""
        return self._inner.dim

    @property
    def examples(self) -> int:
        """Number of training examples."""
        return self._inner.examples

    def value_and_grad(self, theta: Any, batch: Any = None) -> tuple[float, np.ndarray]:
        """The value at ``theta``, and the gradient.

        ``batch`` has the numbers of some examples: the value is then that of their losses and of their share of the penalty, so that batches
        which make up the data add up to the whole.
        """
        return self._inner.value_and_grad(_vector(theta), _batch(batch))

    def hess_vec(self, theta: Any, v: Any, batch: Any = None) -> np.ndarray:
        """The Hessian at ``theta`` times ``v``, exactly; ``batch`` is as for ``value_and_grad``."""
        return self._inner.hess_vec(_vector(theta), _vector(v), _batch(batch))

    def model(self, theta: Any) -> _crfkit.Model:
        """The model with these weights."""
        weights = _vector(theta)
        if not np.isfinite(weights).all():
            raise DataError(f"theta has {weights[~np.isfinite(weights)][0]} for a weight: give finite numbers")
        return self._inner.model(weights)

    def __repr__(self) -> str:
        return f"<crfkit.Objective: {self.dim} weights, {self.examples} examples>"


def _estimator(kind: Any, params: dict[str, Any]) -> Any:
    """An estimator with these parameters, none of which may say how to minimise."""
    for name in params:
        if name in _HOW:
            raise SettingError(f"{name} is not part of the objective: leave it out")
    estimator: Trained[Any] = kind(**params)
    if estimator.sigma == "auto":
        raise SettingError("sigma is 'auto', which needs training: give a number")
    return estimator


def _vector(values: Any) -> np.ndarray:
    vector = real_array(values, "the vector of weights")
    if vector.ndim != 1:
        raise ValueError(f"a vector of weights has one axis, but this one has the shape {vector.shape}")
    return vector


def _batch(batch: Any) -> np.ndarray | None:
    if batch is None:
        return None
    numbers = np.asarray(batch)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError("a batch is a list of the numbers of examples")
    return np.ascontiguousarray(numbers.reshape(-1), dtype=np.int64)
