"""Figures of training runs, transitions and images, with matplotlib (``pip install crfkit[plot]``).

>>> import matplotlib
>>> matplotlib.use("agg")
>>> from crfkit import ChainCRF
>>> from crfkit.plot import plot_learning_curves, plot_transitions
>>> crf = ChainCRF(template="default").fit([["Ada", "sings"]], [["NAME", "VERB"]])
>>> plot_learning_curves(crf).get_xlabel()
'passes'
>>> [text.get_text() for text in plot_transitions(crf).get_xticklabels()]
['NAME', 'VERB']
"""

from __future__ import annotations

from typing import Any, Mapping

import numpy as np

from crfkit.errors import CrfkitError, DataError

# With more labels, no name could be read.
_NAMED = 60


def _axes(ax: Any) -> Any:
    return _pyplot().subplots()[1] if ax is None else ax


def plot_learning_curves(estimators: Any, *, score: bool = False, ax: Any = None) -> Any:
    """The objective of training runs by passes or, with ``score``, the score on the development data.

    ``estimators`` is a fitted estimator, or a dict of several by their names. Returns the axes.
    """
    named = estimators if isinstance(estimators, Mapping) else {"": estimators}
    axes = _axes(ax)
    what = "dev_score" if score else "objective"
    for name, estimator in named.items():
        estimator._check_is_fitted()
        history = estimator.history_
        points = [(p, v) for p, v in zip(history["passes"], history[what]) if v is not None]
        if not points:
            raise DataError("the run has no scores: give fit the keywords X_dev and y_dev" if score else "the run has no reports")
        axes.plot(*zip(*points), marker=".", label=str(name))
    axes.set_xlabel("passes")
    axes.set_ylabel("score on the development data (%)" if score else "objective")
    if any(named):
        axes.legend()
    return axes


def plot_transitions(estimator: Any, *, ax: Any = None) -> Any:
    """The weights of transitions of a chain: rows are labels, columns those of the next tokens. Returns the axes."""
    estimator._check_is_fitted()
    weights, labels = estimator.transitions_, list(estimator.classes_)
    axes = _axes(ax)
    largest = float(np.abs(weights).max()) or 1.0
    image = axes.imshow(weights, cmap="RdBu", vmin=-largest, vmax=largest)
    axes.figure.colorbar(image, ax=axes, label="weight")
    if len(labels) <= _NAMED:
        axes.set_xticks(range(len(labels)), labels, rotation=90)
        axes.set_yticks(range(len(labels)), labels)
    axes.set_xlabel("label of the next token")
    axes.set_ylabel("label")
    return axes


def plot_grid(image: Any, labels: Any, marginals: Any = None, *, axes: Any = None) -> Any:
    """An image, its labels and, if they are given, the probabilities of the chosen labels, side by side. Returns the axes.

    ``labels`` and ``marginals`` are as ``GridCRF.predict`` and ``predict_marginals`` return them for one image.
    """
    shown = np.asarray(image["nodes"] if isinstance(image, Mapping) else image, dtype=float)
    if shown.ndim == 3 and shown.shape[2] != 3:
        shown = shown[:, :, 0]
    low, high = float(shown.min()), float(shown.max())
    parts = [("image", (shown - low) / ((high - low) or 1.0), "gray"), ("labels", np.asarray(labels), "viridis")]
    if marginals is not None:
        parts.append(("probability", np.asarray(marginals).max(axis=2), "gray"))
    if axes is None:
        axes = _pyplot().subplots(1, len(parts), squeeze=False)[1][0]
    if len(axes) < len(parts):
        raise DataError(f"{len(axes)} axes, but there are {len(parts)} parts to draw")
    for axis, (name, values, colours) in zip(axes, parts):
        axis.imshow(values, cmap=colours, interpolation="nearest")
        axis.set_title(name)
        axis.set_axis_off()
    return axes


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise CrfkitError("figures need matplotlib: pip install crfkit[plot]") from None
    return plt
