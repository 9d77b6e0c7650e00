"""The estimator that counts."""

from __future__ import annotations

import json
from typing import Any, Sequence

from crfkit import _crfkit
from crfkit._base import Labels, check_lengths
from crfkit._fit import development, finite
from crfkit.errors import DataError


class EmpiricalTagger(Labels):
    """A conditional random field in closed form: probabilities are counted, and nothing is minimised.

    Training takes a single pass, and more data is added by ``partial_fit``. ``X`` is a list of sequences of words, or of lists
    of fields whose first one is the word.

    Parameters
    ----------
    method : {"ep1", "ep2"}
        How unknown words are treated: by the mean of what their spelling suggests, or by functions fitted to the counts.
    pairs : {"tags", "lexical"}
        Whether the factor of two neighbours depends on their labels, or on their words too.
    smoothing : float
        How much the spelling counts for words that are known; with 0, a word never gets a label that it did not have in training.
    min_count : int
        Words that occur fewer than this many times count as unknown.
    floor : float
        The smallest logarithm of a factor of two labels.
    sigma : float
        Standard deviation of the prior of ``ep2``.
    threads : int or None
        Number of threads for labelling; ``None`` means all cores.

    Examples
    --------
    >>> from crfkit import EmpiricalTagger
    >>> X = [["the", "cat", "jumped"], ["a", "dog", "walked"]]
    >>> tagger = EmpiricalTagger().fit(X, [["DET", "NOUN", "VERB"]] * 2)
    >>> tagger.predict([["the", "dog", "barked"]])[0]
    ['DET', 'NOUN', 'VERB']
    """

    _kind = "empirical chain"
    method: str
    pairs: str
    smoothing: float
    min_count: int
    floor: float
    sigma: float

    def __init__(
        self,
        *,
        method: str = "ep1",
        pairs: str = "tags",
        smoothing: float = 0.0,
        min_count: int = 1,
        floor: float = -12.0,
        sigma: float = 1.0,
        threads: int | None = None,
    ) -> None:
        self._store(locals())

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        X_dev: Sequence[Any] | None = None,
        y_dev: Sequence[Any] | None = None,
    ) -> EmpiricalTagger:
        """Count the training data. With ``X_dev`` and ``y_dev``, unknown words are treated in the way that works best on them."""
        return self._count(X, y, None, development(X_dev, y_dev))

    def partial_fit(self, X: Sequence[Any], y: Sequence[Any]) -> EmpiricalTagger:
        """Add the counts of more sequences: the result is that of ``fit`` on all of them."""
        return self._count(X, y, self.model_ if self.__sklearn_is_fitted__() else None, None)

    def _count(self, X: Any, y: Any, start: _crfkit.Model | None, dev: Any) -> EmpiricalTagger:
        check_lengths(X, y)
        if not any(not hasattr(sequence, "__len__") or len(sequence) for sequence in X):
            raise DataError("X has no token: there is nothing to learn from")
        settings = {
            "method": self.method,
            "pairs": self.pairs,
            "smoothing": finite("smoothing", self.smoothing),
            "min_count": self.min_count,
            "floor": finite("floor", self.floor),
            "sigma": finite("sigma", self.sigma),
            # Labels follow the fields, so that new sequences need no place for them.
            "label_column": -1,
        }
        self.model_ = _crfkit.train_empirical(X, y, json.dumps(settings), held_out=dev, start=start)
        self.__dict__.pop("_tagger", None)
        return self
