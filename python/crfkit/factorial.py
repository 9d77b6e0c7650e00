"""The estimator for sequences with several labels at each token."""

from __future__ import annotations

from os import PathLike
from typing import Any, Callable, Iterable, Sequence

import numpy as np

from crfkit._base import check_lengths, is_list, known_labels, object_array, share_of_right
from crfkit._linked import Linked, as_text
from crfkit.errors import DataError


class FactorialCRF(Linked):
    """A conditional random field whose tokens have several labels, such as a part of speech and a chunk.

    Each label is a chain along the sequence, and the labels of one token form pairs. ``X`` is a list of sequences of words, or of lists of
    fields, from which the template makes features. A sequence may also be an array of numbers (tokens, numbers), or a tuple ``(tokens, array)``
    of both. ``y`` is a list of sequences of tuples: the labels of each token, always the same number
    of them, from 2 to 16.

    Parameters
    ----------
    partial_labels : bool
        Whether labels may be missing in ``y``: in the tuple of a token, ``None`` (or ``"?"``) is a label that is not known, and a set or tuple
        (or ``"A|B"``) is one of several. Training sums over what is not known.
    objective, optimizer, sigma, l1, min_count, template, standardise, passes, seed, threads, patience, warm_start, progress, callback, checkpoint, params
        As for ``ChainCRF``, except that ``None`` as the template is the preset ``default``.
    inference : str or None
        The engine for marginals; ``None`` is exact.

    Examples
    --------
    >>> from crfkit import FactorialCRF
    >>> X = [["Ada", "sings"], ["dogs", "bark"]]
    >>> y = [[("NOUN", "NAME"), ("VERB", "O")], [("NOUN", "O"), ("VERB", "O")]]
    >>> crf = FactorialCRF().fit(X, y)
    >>> crf.predict([["Ada", "sings"]])[0]
    [('NOUN', 'NAME'), ('VERB', 'O')]
    >>> [part.shape for part in crf.predict_marginals(X)[0]]
    [(2, 2), (2, 2)]
    >>> [labels for labels, probability in crf.nbest(X, 2)[1]]
    [[('NOUN', 'O'), ('VERB', 'O')], [('NOUN', 'NAME'), ('VERB', 'O')]]
    """

    _links = "factorial chain"

    def __init__(
        self,
        *,
        objective: str = "likelihood",
        optimizer: str = "auto",
        sigma: float | str | None = 1.0,
        l1: float | str = 0.0,
        min_count: int = 1,
        partial_labels: bool = False,
        template: str | None = None,
        standardise: bool = False,
        inference: str | None = None,
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

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        X_dev: Sequence[Any] | None = None,
        y_dev: Sequence[Any] | None = None,
        sample_weight: Iterable[float] | None = None,
        token_weight: Iterable[Iterable[float]] | None = None,
    ) -> FactorialCRF:
        """Train on sequences and their labels. The keywords are as for ``ChainCRF.fit``; all labels of a token have its weight."""
        return self._fit(X, y, (X_dev, y_dev), sample_weight, token_weight)

    def _tuples(self, y: Any, name: str, partial: bool) -> list[list[list[str]]]:
        return _tuples(y, name, partial)

    def predict(self, X: Sequence[Any], *, allowed: Sequence[Any] | None = None) -> np.ndarray:
        """The labels of sequences: a 1-D array of lists of tuples.

        ``allowed`` restricts labels, in the form of ``y`` with missing labels: ``None`` is any label, a label is fixed, and a set is one of several.
        """
        found = self.tagger_.labels(X, allowed=self._allowed(X, allowed), threads=self.threads)
        return object_array([self._named(sequence) for sequence in found])

    def _named(self, labels: list[list[str]]) -> list[Any]:
        return [tuple(names) for names in labels]

    def predict_marginals(self, X: Sequence[Any], *, allowed: Sequence[Any] | None = None) -> list[list[np.ndarray]]:
        """The probability of each label at each token: for each sequence a list with an array (tokens, labels) for each label.

        With ``allowed``, as for ``predict``, they are conditional on it.
        """
        return [list(parts) for parts in self.tagger_.marginals(X, allowed=self._allowed(X, allowed), threads=self.threads)]

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Iterable[float] | None = None) -> float:
        """The share of tokens whose labels are all right. ``sample_weight`` has a number for each sequence.

        With ``partial_labels``, labels may be missing in ``y`` as in ``fit``; one of several is right if it is among them, and tokens of
        which nothing is known do not count.
        """
        check_lengths(X, y)
        given, count = _tuples(y, "y", bool(self.partial_labels)), len(self.classes_)
        found = next((len(labels) for gold in given for labels in gold), count)
        if found != count:
            raise DataError(f"tokens of y have {found} labels, but those of the training data have {count}")
        gold = [[_known(labels) if self.partial_labels else tuple(labels) for labels in sequence] for sequence in given]
        return share_of_right(self.predict(X), gold, sample_weight)

    @property
    def classes_(self) -> list[np.ndarray]:
        """The labels: an array for each label of a token."""
        return [np.array(names) for names in self.tagger_.names]


class _Known:
    """What is known of the labels of a token: it contains the labels that agree with it."""

    def __init__(self, labels: list[Any]) -> None:
        self._labels = labels

    def __contains__(self, found: Any) -> bool:
        return all(label is None or a == label or (isinstance(label, set) and a in label) for a, label in zip(found, self._labels))


def _known(labels: list[str]) -> _Known | None:
    """What is known of the labels of a token; ``None`` if nothing is."""
    known = known_labels(labels)
    return None if all(label is None for label in known) else _Known(known)


def _tuples(y: Any, name: str, partial: bool) -> list[list[list[str]]]:
    """The labels of each token. All tokens must have the same number of them, of which some may be missing if they may be partial."""
    count = None
    found = []
    for k, sequence in enumerate(y):
        if not is_list(sequence) or not hasattr(sequence, "__iter__"):
            raise TypeError(f"{name}[{k}] is {sequence!r:.60}: give a list with a tuple of labels per token")
        tokens = []
        for t, labels in enumerate(sequence):
            at = f"{name}[{k}][{t}]"
            if not is_list(labels) or not hasattr(labels, "__len__"):
                raise TypeError(f"{at} is {labels!r}: give a tuple of labels, which are strings")
            count = len(labels) if count is None else count
            if len(labels) != count:
                raise DataError(f"{at} has {len(labels)} labels, but the first token has {count}: give all the same number")
            tokens.append([as_text(label, f"{at}[{c}]", partial) for c, label in enumerate(labels)])
        found.append(tokens)
    return found
