"""The estimator that counts."""

from __future__ import annotations

import json
from typing import Any, Sequence

import numpy as np

from crfkit import _crfkit
from crfkit._base import Estimator, check_lengths, object_array
from crfkit._fit import development, number
from crfkit.chain import token_accuracy
from crfkit.errors import DataError


class EmpiricalTagger(Estimator):
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
        Words that occur fewer times count as unknown.
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

    model_: _crfkit.Model

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
        self.method = method
        self.pairs = pairs
        self.smoothing = smoothing
        self.min_count = min_count
        self.floor = floor
        self.sigma = sigma
        self.threads = threads

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        X_dev: Sequence[Any] | None = None,
        y_dev: Sequence[Any] | None = None,
    ) -> EmpiricalTagger:
        """Count. With ``X_dev`` and ``y_dev``, the treatment of unknown words is the one that is best on them."""
        return self._count(X, y, None, development(X_dev, y_dev))

    def partial_fit(self, X: Sequence[Any], y: Sequence[Any]) -> EmpiricalTagger:
        """Add the counts of more sequences: the result is that of ``fit`` on all of them."""
        return self._count(X, y, self.model_ if self.__sklearn_is_fitted__() else None, None)

    def _count(self, X: Any, y: Any, start: _crfkit.Model | None, dev: Any) -> EmpiricalTagger:
        check_lengths(X, y)
        if not any(len(sequence) for sequence in X):
            raise DataError("X has no token: there is nothing to learn from")
        settings = {
            "method": self.method,
            "pairs": self.pairs,
            "smoothing": number("smoothing", self.smoothing),
            "min_count": int(self.min_count),
            "floor": number("floor", self.floor),
            "sigma": number("sigma", self.sigma),
            # Labels follow the fields, so that new sequences need no place for them.
            "label_column": -1,
        }
        self.model_ = _crfkit.train_empirical(X, y, json.dumps(settings), held_out=dev, start=start)
        self.__dict__.pop("_tagger", None)
        return self

    @property
    def tagger_(self) -> _crfkit.Tagger:
        """The worker that labels with this model."""
        self._check_is_fitted()
        if "_tagger" not in self.__dict__:
            self._tagger = self.model_.tagger()
        return self._tagger

    def predict(self, X: Sequence[Any]) -> np.ndarray:
        """The labels of sequences: a 1-D array of lists."""
        return object_array(self.tagger_.label_lists(X, threads=self.threads))

    def predict_marginals(self, X: Sequence[Any]) -> list[np.ndarray]:
        """The probability of each label at each token: an array (tokens, labels) for each sequence."""
        return [tagged.marginals for tagged in self.tagger_.tag_many(X, threads=self.threads)]

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """The share of tokens whose label is right."""
        check_lengths(X, y)
        return token_accuracy(self.predict(X), y, None)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of the columns of ``predict_marginals``."""
        self._check_is_fitted()
        return np.array(self.model_.labels)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tagger"}
