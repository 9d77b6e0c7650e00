"""The estimator for sequences with links between distant tokens."""

from __future__ import annotations

from os import PathLike
from typing import Any, Callable, Iterable, Sequence

import numpy as np

from crfkit._base import check_lengths, is_list, known_labels, object_array, share_of_right
from crfkit._linked import Linked, as_text


class SkipChainCRF(Linked):
    """A conditional random field whose chains have links between distant tokens, such as all occurrences of a name in a document.

    ``X`` is a list of sequences of words, or of lists of fields, from which the template makes features; a sequence may also be a tuple
    ``(tokens, array)`` with an array of numbers (tokens, numbers). ``y`` is a list of lists of labels. The graph of a sequence with links has
    loops, so inference is approximate unless ``inference`` says otherwise.

    Parameters
    ----------
    skip : str
        The rule that says which tokens are linked: tests of the fields of both, which are numbered from 0. ``same(0)`` is true of tokens with
        the same text, ``capitalised(0)`` of those that begin with a capital, ``equals(0, "TEXT")`` and ``matches(0, "PATTERN")`` of those that have
        a text or contain a pattern. They are joined by ``and``, ``or``, ``not`` and brackets.
    skip_features : bool
        Whether links have weights for the features of both tokens, besides one weight for each pair of labels.
    inference : str or None
        The engine for marginals, in training and afterwards: ``loopy-bp`` (the default, ``None``), ``exact``, ``trw``, ``mean-field`` or
        ``double-loop``. Belief propagation is exact up to its tolerance for sequences without links, and approximate for others. ``exact`` raises
        an error if the links of a sequence need tables larger than ``params={"memory_limit": bytes}``, by default 1 GiB.
    partial_labels : bool
        As for ``ChainCRF``: ``None`` (or ``"?"``) in ``y`` is a label that is not known, and a set or tuple (or ``"A|B"``) is one of several.
    objective, optimizer, sigma, l1, min_count, template, standardise, passes, seed, threads, patience, warm_start, progress, callback, checkpoint, params
        As for ``ChainCRF``, except that ``None`` as the template is the preset ``default``.

    Examples
    --------
    >>> from crfkit import SkipChainCRF
    >>> X = [["Ada", "sings", ".", "Ada", "dances"], ["dogs", "bark", "."]]
    >>> y = [["NAME", "O", "O", "NAME", "O"], ["O", "O", "O"]]
    >>> crf = SkipChainCRF(skip="same(0) and capitalised(0)").fit(X, y)
    >>> crf.predict(X)[0]
    ['NAME', 'O', 'O', 'NAME', 'O']
    >>> crf.predict_marginals(X)[0].shape
    (5, 2)

    Probabilities of whole labellings need exact inference:

    >>> exact = SkipChainCRF(skip="same(0) and capitalised(0)", inference="exact").fit(X, y)
    >>> [labels for labels, probability in exact.nbest(X, 2)[1]][0]
    ['O', 'O', 'O']
    """

    _links = "skip chain"
    skip: str
    skip_features: bool

    def __init__(
        self,
        *,
        skip: str = "same(0) and capitalised(0)",
        skip_features: bool = False,
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
    ) -> SkipChainCRF:
        """Train on sequences and their labels. The keywords are as for ``ChainCRF.fit``."""
        return self._fit(X, y, (X_dev, y_dev), sample_weight, token_weight)

    def _skip(self) -> tuple[str, bool]:
        if not isinstance(self.skip, str):
            raise TypeError(f"skip is {self.skip!r}: give a rule, such as 'same(0) and capitalised(0)'")
        return self.skip, bool(self.skip_features)

    def _tuples(self, y: Any, name: str, partial: bool) -> list[list[list[str]]]:
        found = []
        for k, sequence in enumerate(y):
            if not is_list(sequence) or not hasattr(sequence, "__iter__"):
                raise TypeError(f"{name}[{k}] is {sequence!r:.60}: give a list with a label per token")
            found.append([[as_text(label, f"{name}[{k}][{t}]", partial)] for t, label in enumerate(sequence)])
        return found

    def predict(self, X: Sequence[Any], *, allowed: Sequence[Any] | None = None) -> np.ndarray:
        """The labels of sequences: a 1-D array of lists.

        ``allowed`` restricts labels, in the form of ``y`` with missing labels: ``None`` is any label, a label is fixed, and a set is one of several.
        """
        found = self.tagger_.labels(X, allowed=self._allowed(X, allowed), threads=self.threads)
        return object_array([self._named(sequence) for sequence in found])

    def _named(self, labels: list[list[str]]) -> list[Any]:
        return [label for [label] in labels]

    def predict_marginals(self, X: Sequence[Any], *, allowed: Sequence[Any] | None = None) -> list[np.ndarray]:
        """The probability of each label at each token: an array (tokens, labels) for each sequence.

        With ``allowed``, as for ``predict``, they are conditional on it.
        """
        return [part for [part] in self.tagger_.marginals(X, allowed=self._allowed(X, allowed), threads=self.threads)]

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Iterable[float] | None = None) -> float:
        """The share of tokens whose label is right. ``sample_weight`` has a number for each sequence. Tokens without a label do not count.

        With ``partial_labels``, labels may be missing in ``y`` as in ``fit``; one of several is right if it is among them.
        """
        check_lengths(X, y)
        gold = [known_labels(labels) for labels in y] if self.partial_labels else y
        return share_of_right(self.predict(X), gold, sample_weight)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of the columns of ``predict_marginals``."""
        return np.array(self.tagger_.names[0])
