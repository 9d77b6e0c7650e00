"""The estimator for images."""

from __future__ import annotations

from os import PathLike
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from crfkit import _crfkit
from crfkit._base import check_lengths, each_of, object_array, real_array, unmasked, weights_of
from crfkit._fit import Trained, development, label_weights_of, text_of
from crfkit.errors import DataError, SettingError

_LARGEST = np.iinfo(np.uint16).max
_ARRAYS = ("nodes", "compare", "horizontal", "vertical")


class GridCRF(Trained[_crfkit.GridTagger]):
    """A conditional random field for images and other grids.

    ``X`` is a list of arrays (height, width, numbers), or (height, width) where a pixel has one number. ``y`` is a list of arrays
    (height, width) of whole numbers from 0 to 65535, the labels. Where an array of ``y`` has the shape (height, width, labels), of truth
    values, the label of a pixel is one of those that are true; labels are then 0, 1, 2, ... Images may have different sizes. Neighbours
    compare their numbers; if they are to compare others, or if pairs have numbers of their own, an image is a dict of arrays: ``nodes``, and
    ``compare`` (height, width, numbers), or ``horizontal`` (height, width − 1, numbers) and ``vertical`` (height − 1, width, numbers).

    Parameters
    ----------
    objective : str
        What is minimised: ``likelihood``, ``pseudolikelihood``, ``piecewise``, ``piecewise-pseudo``, ``perceptron``, ``marginal``,
        ``softmax-margin`` or ``max-margin``.
    optimizer, sigma, l1, passes, seed, threads, patience, warm_start, progress, callback, checkpoint, params
        As for ``ChainCRF``.
    neighbours : {4, 8, 0}
        Which pixels are joined. 0 joins none, which is logistic regression.
    table : {"potts", "full", "ising"}
        The weights of a pair, for each of its numbers: ``potts`` has one weight for equal labels, ``full`` one for each pair of labels, ``ising`` one for the
        product of two labels −1 and +1.
    directions : {"shared", "separate"}
        Whether horizontal, vertical and diagonal pairs share their weights.
    unlabelled : int or None
        The value in ``y`` of pixels whose label is not known. So are the masked pixels of a masked array.
    class_weight : dict or None
        Weights of labels, which the weights of their pixels are multiplied by, for the same objectives as ``pixel_weight`` of ``fit``.
    inference : str or None
        The engine for marginals: ``loopy-bp`` (the default), ``trw``, ``mean-field``, ``exact``, ...
    decode : str or None
        How labels are chosen: ``max-marginal`` (the default), ``best`` (the default if the objective is ``perceptron`` or
        ``max-margin``), ``exact``, ``max-product``, ``icm``, ``graph-cut``, ``alpha-expansion``.

    Attributes
    ----------
    model_, history_, stop_reason_ :
        As for ``ChainCRF``.
    classes_ : array
        The labels.

    Examples
    --------
    >>> import numpy as np
    >>> from crfkit import GridCRF
    >>> truth = np.zeros((8, 8), dtype=int)
    >>> truth[2:6, 2:6] = 7
    >>> noisy = truth / 7 + 0.3 * np.sin(np.arange(64)).reshape(8, 8)
    >>> grid = GridCRF().fit([noisy], [truth])
    >>> grid.predict([noisy])[0].shape
    (8, 8)
    >>> grid.classes_
    array([0, 7], dtype=uint16)
    """

    neighbours: int
    table: str
    directions: str
    unlabelled: int | None
    class_weight: Mapping[int, float] | None
    inference: str | None
    decode: str | None

    def __init__(
        self,
        *,
        objective: str = "likelihood",
        optimizer: str = "auto",
        sigma: float | str | None = 1.0,
        l1: float | str = 0.0,
        neighbours: int = 4,
        table: str = "potts",
        directions: str = "shared",
        unlabelled: int | None = None,
        class_weight: Mapping[int, float] | None = None,
        inference: str | None = None,
        decode: str | None = None,
        passes: int | None = None,
        seed: int = 1,
        threads: int | None = None,
        patience: int = 5,
        warm_start: bool = False,
        progress: bool | str = "auto",
        callback: Callable[[dict[str, Any]], Any] | None = None,
        checkpoint: str | bytes | PathLike[str] | PathLike[bytes] | None = None,
        params: dict[str, Any] | None = None,
    ) -> None:
        self._store(locals())

    def _worker(self, model: _crfkit.Model) -> _crfkit.GridTagger:
        return _crfkit.GridTagger(model)

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        X_dev: Sequence[Any] | None = None,
        y_dev: Sequence[Any] | None = None,
        sample_weight: Iterable[float] | None = None,
        pixel_weight: Sequence[Any] | None = None,
    ) -> GridCRF:
        """Train on images and their labels. ``X_dev``, ``y_dev`` and ``sample_weight`` are as for ``ChainCRF.fit``.

        ``pixel_weight`` has an array (height, width) for each image. It is for ``pseudolikelihood``, ``piecewise-pseudo`` and ``marginal``, which
        multiply a pixel's term by it, and for ``softmax-margin`` and ``max-margin``, for which it is the cost of a wrong label there.
        """
        images, masks, layout = self._data(X, y)
        dev = development(X_dev, y_dev)
        developed = None if dev is None else (_images(dev[0], "X_dev"), _masks(dev[1], dev[0], "y_dev", self.unlabelled))
        settings = self._settings(inference=self.inference)
        weights = self._weights(X, masks, sample_weight, pixel_weight)
        more: dict[str, Any] = {"weights": weights, "dev": developed, "start": self._start(), "checkpoint": self._checkpoint()}
        return self._run(_crfkit.train_grid, images, masks, layout, settings, **more)

    def _weights(self, X: Any, masks: list[np.ndarray], sample_weight: Any, pixel_weight: Any) -> dict[str, Any]:
        """The weights of images, pixels and labels."""
        pixels = None
        if pixel_weight is not None:
            given = each_of(pixel_weight, "pixel_weight", "arrays")
            if len(given) != len(X):
                raise DataError(f"X has {len(X)} images, but pixel_weight has {len(given)} arrays")
            pixels = [real_array(weights, f"pixel_weight[{k}]") for k, weights in enumerate(given)]
            for k, (weights, mask) in enumerate(zip(pixels, masks)):
                if weights.shape != mask.shape[:2]:
                    raise DataError(f"pixel_weight[{k}] has the shape {weights.shape}, but its image has {mask.shape[:2]}")
                wrong = weights[~(np.isfinite(weights) & (weights >= 0))]
                if wrong.size:
                    raise DataError(f"pixel_weight[{k}] has {wrong[0]}, which is not a finite number of at least 0")
        labels = label_weights_of(self.class_weight)
        return {"examples": weights_of(sample_weight, X, "images"), "pixels": pixels, "labels": labels}

    def _data(self, X: Any, y: Any) -> tuple[Any, Any, Any]:
        check_lengths(X, y)
        if self.unlabelled is not None and not (
            isinstance(self.unlabelled, (int, np.integer)) and 0 <= self.unlabelled <= _LARGEST
        ):
            raise SettingError(f"unlabelled is {self.unlabelled!r}: give a whole number from 0 to {_LARGEST}")
        images, masks = _images(X, "X"), _masks(y, X, "y", self.unlabelled)
        labels = self._labels(masks)
        if self.neighbours not in (0, 4, 8):
            raise SettingError(f"neighbours is {self.neighbours!r}: choose 0, 4 or 8")
        for name in ("table", "directions"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} is {getattr(self, name)!r:.60}: give a string")
        return images, masks, (labels, self.unlabelled, self.neighbours, self.table, self.directions)

    def _labels(self, masks: list[np.ndarray]) -> list[int]:
        """The labels of the training data."""
        widths = {mask.shape[2] for mask in masks if mask.ndim == 3}
        if len(widths) > 1:
            raise DataError(f"y has sets of {min(widths)} labels and of {max(widths)}: give all the same")
        if widths:
            return list(range(widths.pop()))
        values = np.unique(np.concatenate([mask.ravel() for mask in masks]))
        labels = [int(value) for value in values if value != self.unlabelled]
        if not labels:
            raise DataError("y has no label: there is nothing to learn from")
        return labels

    def predict(self, X: Sequence[Any], *, allowed: Sequence[Any] | None = None) -> np.ndarray:
        """The labels of images: a 1-D array of arrays (height, width).

        ``allowed`` restricts them. It has for each image ``None``, an array (height, width, labels) of truth values, in the order of
        ``classes_``, or an array (height, width) of labels that are known, with the value of ``unlabelled`` elsewhere.
        """
        tagger, images = self.tagger_, self._restricted(X, allowed)
        return object_array(list(tagger.labels(images, decode=text_of("decode", self.decode), threads=self.threads)))

    def predict_marginals(self, X: Sequence[Any], *, allowed: Sequence[Any] | None = None) -> list[np.ndarray]:
        """The probability of each label at each pixel: an array (height, width, labels) for each image.

        With ``allowed``, as for ``predict``, they are conditional on it.
        """
        tagger = self.tagger_
        return list(tagger.marginals(self._restricted(X, allowed), threads=self.threads))

    def _restricted(self, X: Any, allowed: Any) -> list[Any]:
        """Images, whose labels may be restricted."""
        X = each_of(X, "X", "images")
        images = _images(X, "X")
        if allowed is None:
            return images
        check_lengths(X, allowed, ("X", "allowed"))
        return [(*image[:4], self._sets(of, x, f"allowed[{k}]")) for k, (image, of, x) in enumerate(zip(images, allowed, X))]

    def _sets(self, given: Any, image: Any, name: str) -> np.ndarray | None:
        """The labels that each pixel may have: truth values (height, width, labels), in the order of the labels."""
        if given is None:
            return None
        [mask], labels = _masks([given], [image], name, self.unlabelled, one=True), self.classes_
        if mask.ndim == 2:
            sets: np.ndarray = mask[:, :, np.newaxis] == labels
            if self.unlabelled is not None:
                sets |= (mask == self.unlabelled)[:, :, np.newaxis]
            if not sets.any(axis=2).all():
                raise DataError(f"{name} has the label {mask[~sets.any(axis=2)][0]}, but the labels are {labels.tolist()}")
            return sets
        if mask.shape[2] != len(labels):
            raise DataError(f"{name} has the shape {mask.shape}, but there are {len(labels)} labels: the last axis is that of classes_")
        return mask

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Iterable[float] | None = None) -> float:
        """The share of pixels whose label is right. ``sample_weight`` has a number for each image.

        Pixels without a label do not count, and one of several is right if it is among them.
        """
        check_lengths(X, y)
        weights = weights_of(sample_weight, X, "images") or [1.0] * len(X)
        right = total = 0.0
        for k, (weight, found, gold) in enumerate(zip(weights, self.predict(X), _masks(y, X, "y", self.unlabelled))):
            if gold.ndim == 3:
                sets = self._sets(gold, found, f"y[{k}]")
                assert sets is not None
                counted = ~sets.all(axis=2)
                hit = np.take_along_axis(sets, np.searchsorted(self.classes_, found)[:, :, np.newaxis], axis=2)[:, :, 0]
            else:
                counted = np.ones(gold.shape, dtype=bool) if self.unlabelled is None else gold != self.unlabelled
                hit = found == gold
            right += weight * float(np.sum(hit & counted))
            total += weight * float(np.sum(counted))
        return right / total if total else 1.0

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of the last axis of ``predict_marginals``."""
        return np.array(self.tagger_.values, dtype=np.uint16)


def _numbers(array: Any, name: str) -> np.ndarray:
    numbers = real_array(array, name)
    if numbers.ndim == 2:
        numbers = numbers[:, :, np.newaxis]
    if numbers.ndim != 3:
        raise DataError(f"{name} has the shape {numbers.shape}: give an array (height, width, numbers)")
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} has numbers that are not finite")
    return numbers


def _images(X: Any, name: str) -> list[Any]:
    images: list[Any] = []
    for k, image in enumerate(each_of(X, name, "images")):
        at = f"{name}[{k}]"
        if not isinstance(image, dict):
            images.append((_numbers(image, at), None, None, None, None))
            continue
        unknown = [key for key in image if key not in _ARRAYS]
        if unknown or "nodes" not in image:
            raise DataError(f"{at} has the arrays {list(image)}: give nodes, and compare, or horizontal and vertical")
        images.append((*(_numbers(image[key], f"{at}[{key!r}]") if key in image else None for key in _ARRAYS), None))
    return images


def _masks(y: Any, X: Any, name: str, unlabelled: int | None, *, one: bool = False) -> list[np.ndarray]:
    """The labels of images: whole numbers (height, width), or truth values (height, width, labels). ``one`` is called by the name itself."""
    masks = []
    for k, (mask, image) in enumerate(zip(y, X)):
        at = name if one else f"{name}[{k}]"
        if isinstance(mask, np.ma.MaskedArray) and np.ma.is_masked(mask) and mask.ndim == 2:
            # Pixels that NumPy masks have no label.
            if unlabelled is None:
                raise DataError(f"{at} has masked labels: set unlabelled to a value that stands for pixels without a label")
            mask = np.where(np.ma.getmaskarray(mask), unlabelled, mask.data)
        unmasked(mask, at)
        labels = np.asarray(mask)
        height, width = np.shape(image["nodes"] if isinstance(image, dict) else image)[:2]
        if labels.shape[:2] != (height, width) or labels.ndim not in (2, 3):
            raise DataError(f"{at} has the shape {labels.shape}, but its image has {(height, width)}")
        if labels.dtype.kind not in "iub":
            raise TypeError(f"{at} has labels of type {labels.dtype}: give whole numbers")
        if labels.ndim == 3:
            masks.append(_truth_values(labels, at))
            continue
        if labels.size and not (0 <= int(labels.min()) and int(labels.max()) <= _LARGEST):
            raise DataError(f"{at} has labels below 0 or above {_LARGEST}")
        masks.append(np.ascontiguousarray(labels, dtype=np.uint16))
    return masks


def _truth_values(labels: np.ndarray, name: str) -> np.ndarray:
    """Sets of labels, (height, width, labels)."""
    if labels.shape[2] < 2:
        raise DataError(f"{name} has the shape {labels.shape}: sets of labels are (height, width, labels), with two or more labels")
    if labels.size and not (0 <= int(labels.min()) and int(labels.max()) <= 1):
        raise DataError(f"{name} has values other than 0 and 1: they say which labels a pixel may have")
    empty = np.argwhere(~labels.any(axis=2))
    if len(empty):
        raise DataError(f"{name} has no label at {tuple(empty[0].tolist())}: where nothing is known, all are true")
    return np.ascontiguousarray(labels, dtype=bool)
