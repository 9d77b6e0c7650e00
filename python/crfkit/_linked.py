"""What the estimators of factorial and skip chains share."""

from __future__ import annotations

from typing import Any, Sequence, TypeVar

import numpy as np

from crfkit import _crfkit
from crfkit._base import check_lengths, weights_of
from crfkit._fit import Trained, development, text_of, token_weights_of
from crfkit.errors import SettingError

# The estimator of each kind of links.
_ESTIMATORS = {"factorial chain": "FactorialCRF", "skip chain": "SkipChainCRF"}

Fit = TypeVar("Fit", bound="Linked")


class Linked(Trained[_crfkit.LinkedTagger]):
    """Sequences whose labels are linked otherwise than in a chain."""

    min_count: int
    partial_labels: bool
    template: str | None
    standardise: bool
    inference: str | None

    # What links the labels of its models.
    _links: str

    def _worker(self, model: _crfkit.Model) -> _crfkit.LinkedTagger:
        worker = _crfkit.LinkedTagger(model)
        if worker.links != self._links:
            mine, other = type(self).__name__, _ESTIMATORS[worker.links]
            raise SettingError(f"{mine} takes models of {self._links}s, but this one is of {worker.links}s: use {other}")
        return worker

    def _skip(self) -> tuple[str, bool] | None:
        """The rule of a skip chain, and whether its links have the features of both ends."""
        return None

    def _tuples(self, y: Any, name: str, partial: bool) -> list[list[list[str]]]:
        """The labels of each token, which the user calls by this name. Some may be missing if they may be partial."""
        raise NotImplementedError

    def _named(self, labels: list[list[str]]) -> list[Any]:
        """The labels of a sequence, token by token."""
        raise NotImplementedError

    def nbest(self, X: Sequence[Any], n: int, *, allowed: Sequence[Any] | None = None) -> list[list[tuple[list[Any], float]]]:
        """The ``n`` best labellings of each sequence with their probabilities, best first; fewer where there are fewer.

        Probabilities of whole labellings need exact inference, as factorial chains have and ``inference="exact"``; else it is an error. With
        ``allowed``, as for ``predict``, they are conditional on it.
        """
        found = self.tagger_.nbest(X, n, allowed=self._allowed(X, allowed), threads=self.threads)
        return [[(self._named(labels), probability) for labels, probability in ranked] for ranked in found]

    def log_probability(
        self, X: Sequence[Any], y: Sequence[Any] | None = None, *, allowed: Sequence[Any] | None = None
    ) -> np.ndarray:
        """The log-probability of a labelling of each sequence, by default of the best one. It needs exact inference, as ``nbest`` does."""
        if y is not None:
            check_lengths(X, y)
        given = None if y is None else self._tuples(y, "y", False)
        return np.array(self.tagger_.log_probability(X, given, allowed=self._allowed(X, allowed), threads=self.threads))

    def entropy(self, X: Sequence[Any], *, allowed: Sequence[Any] | None = None) -> np.ndarray:
        """How unsure the model is of the labelling of each sequence: its entropy in nats, 0 if only one is possible.

        It needs exact inference, as ``nbest`` does.
        """
        return np.array(self.tagger_.entropy(X, allowed=self._allowed(X, allowed), threads=self.threads))

    def _allowed(self, X: Any, allowed: Any) -> list[list[list[str]]] | None:
        """The labels that tokens may have, if they are restricted."""
        if allowed is None:
            return None
        check_lengths(X, allowed, ("X", "allowed"))
        return self._tuples(allowed, "allowed", True)

    def _fit(self: Fit, X: Any, y: Any, dev: tuple[Any, Any], sample_weight: Any, token_weight: Any) -> Fit:
        check_lengths(X, y)
        developed = development(*dev)
        settings = self._settings(min_count=self.min_count, inference=self.inference)
        reading = {
            "template": text_of("template", self.template),
            "weights": weights_of(sample_weight, X),
            "token_weights": token_weights_of(token_weight, X),
            "partial_labels": bool(self.partial_labels),
            "standardise": bool(self.standardise),
            "skip": self._skip(),
        }
        return self._run(
            _crfkit.train_linked,
            X,
            self._tuples(y, "y", bool(self.partial_labels)),
            settings,
            reading,
            dev=None if developed is None else (developed[0], self._tuples(developed[1], "y_dev", bool(self.partial_labels))),
            start=self._start(),
            checkpoint=self._checkpoint(),
        )


def as_text(label: Any, at: str, partial: bool) -> str:
    """A label as the library writes it: ``?`` for one that is not known, ``A|B`` for one of several."""
    if isinstance(label, str) and label:
        return label
    if partial and (label is None or label is np.ma.masked):
        return "?"
    if partial and isinstance(label, (set, frozenset, tuple, list)) and label:
        names = [name for name in label if isinstance(name, str) and name and name != "?" and "|" not in name]
        if len(names) == len(label):
            return "|".join(sorted(names))
    what = "None is one that is not known, and a set one of several" if partial else "where some are not known, set partial_labels=True"
    hint = f"; {what}" if partial or label is None or isinstance(label, (set, frozenset)) else ""
    raise TypeError(f"{at} is {label!r:.60}: labels are strings that are not empty{hint}")
