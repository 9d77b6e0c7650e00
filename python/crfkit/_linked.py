"""What the estimators of factorial and skip chains share."""

from __future__ import annotations

from typing import Any, TypeVar

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
            dev=None if developed is None else (developed[0], self._tuples(developed[1], "y_dev", False)),
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
