"""The estimator of sklearn-crfsuite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from crfkit import _crfkit
from crfkit._base import Estimator, check_lengths
from crfkit.compat._parameters import DEFAULTS, algorithm_name, converted
from crfkit.compat.pycrfsuite import Tagger
from crfkit.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer
from crfkit.errors import DataError

# The names that differ between the two interfaces.
_RENAMED = {
    "min_freq": "feature.minfreq",
    "pa_type": "type",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "calibration_eta": "calibration.eta",
    "calibration_rate": "calibration.rate",
    "calibration_samples": "calibration.samples",
    "calibration_candidates": "calibration.candidates",
    "calibration_max_trials": "calibration.max_trials",
}
_OWN = ("algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls")


class CRF(Estimator):
    """A drop-in replacement for ``sklearn_crfsuite.CRF``.

    Parameters have the names and the meaning that they have there. No temporary file is written; ``keep_tempfiles`` has no effect, and
    ``modelfile.name`` is ``model_filename``, which may be ``None``.

    >>> crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
    >>> crf.fit([[{"word": "Ada"}, {"word": "sings"}]], [["NAME", "VERB"]]).predict_single([{"word": "Ada"}])
    ['NAME']
    """

    algorithm: str | None
    verbose: bool
    model_filename: str | None
    trainer_cls: Any
    model_: _crfkit.Model

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool | None = False,
        trainer_cls: Any = None,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any, X_dev: Any = None, y_dev: Any = None) -> CRF:
        """Train on sequences of features and their labels."""
        X, y, X_dev, y_dev = (list(given) if isinstance(given, Iterator) else given for given in (X, y, X_dev, y_dev))
        check_lengths(X, y)
        algorithm = algorithm_name(self.algorithm or "lbfgs")
        if (X_dev is None) != (y_dev is None):
            raise DataError("give both X_dev and y_dev, or neither")
        trainer_cls = LinePerIterationTrainer if self.trainer_cls is None else self.trainer_cls
        trainer = trainer_cls(algorithm=algorithm, params=self._given(algorithm))
        trainer.verbose = self.verbose
        for x, labels in zip(X, y):
            trainer.append(x, labels)
        if X_dev is not None:
            check_lengths(X_dev, y_dev, ("X_dev", "y_dev"))
            for x, labels in zip(X_dev, y_dev):
                trainer.append(x, labels, 1)
        for name in ("_tagger", "_fast"):
            self.__dict__.pop(name, None)
        self.model_ = _crfkit.Model.from_bytes(trainer._train(1 if X_dev is not None else -1))
        self.training_log_ = getattr(trainer, "logparser", None)
        if self.model_filename is not None:
            trainer._save(self.model_filename)
        return self

    def _given(self, algorithm: str) -> dict[str, Any]:
        """The parameters that are set, under CRFsuite's names."""
        known, given = DEFAULTS[algorithm], {}
        # Not those of a subclass, which may hide some of them and have others of its own.
        for name in CRF._parameter_names():
            value, full = getattr(self, name), _RENAMED.get(name, name)
            if name in _OWN or value is None:
                continue
            if full not in known:
                raise ValueError(f"{name} is not a parameter of the algorithm {algorithm}: leave it out")
            given[full] = converted(name, value, known[full][0])
        return given

    def __sklearn_is_fitted__(self) -> bool:
        if getattr(self, "model_", None) is None and self.model_filename and os.path.exists(self.model_filename):
            # The name of a model's file is enough to label with it.
            self.model_ = _crfkit.Model.load(self.model_filename)
        return getattr(self, "model_", None) is not None

    @property
    def modelfile(self) -> SimpleNamespace:
        """The model's file: its ``name``, which is ``None`` without ``model_filename``."""
        return SimpleNamespace(name=self.model_filename)

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger with the trained model; ``None`` before ``fit``."""
        return self._ready() if self.__sklearn_is_fitted__() else None

    def _ready(self) -> Tagger:
        self._check_is_fitted()
        if "_tagger" not in self.__dict__:
            self._tagger = Tagger()
            self._tagger._use(self.model_)
        return self._tagger

    def _worker(self) -> _crfkit.Tagger:
        self._check_is_fitted()
        if "_fast" not in self.__dict__:
            self._fast = self.model_.tagger()
        return self._fast

    def predict(self, X: Any) -> np.ndarray:
        """The labels of sequences."""
        # As in the original, an array of two dimensions where all sequences have the same length.
        found = self._worker().label_lists(X)
        lengths = {len(labels) for labels in found}
        if len(lengths) == 1:
            return np.array(found, dtype=object)
        array = np.empty(len(found), dtype=object)
        array[:] = found
        return array

    def predict_single(self, xseq: Any) -> list[str]:
        """The labels of one sequence."""
        return self._ready().tag(xseq)

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        """The probability of each label at each token, as dicts."""
        return [self._dicts(tagged) for tagged in self._worker().tag_many(X)]

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """The probability of each label at each token of one sequence, as dicts."""
        return self._dicts(self._worker().tag(xseq))

    def _dicts(self, tagged: Any) -> list[dict[str, float]]:
        labels = self.model_.labels
        return [dict(zip(labels, row)) for row in tagged.marginals.tolist()]

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens whose label is right."""
        from crfkit.compat.sklearn_crfsuite.metrics import flat_accuracy_score

        return flat_accuracy_score(y, self.predict(X))

    @property
    def classes_(self) -> list[str] | None:
        """The labels; ``None`` before ``fit``."""
        return self.model_.labels if self.__sklearn_is_fitted__() else None

    @property
    def attributes_(self) -> list[str] | None:
        """The names of the attributes; ``None`` before ``fit``."""
        return self.model_.coefficients()[0] if self.__sklearn_is_fitted__() else None

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes; ``None`` before ``fit``."""
        attributes = self.attributes_
        return None if attributes is None else len(attributes)

    @property
    def size_(self) -> int | None:
        """The size of the model in bytes; ``None`` before ``fit``."""
        return len(self.model_.to_crfsuite()) if self.__sklearn_is_fitted__() else None

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights by attribute and label; ``None`` before ``fit``."""
        return self._ready().info().state_features if self.__sklearn_is_fitted__() else None

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights by label and next label; ``None`` before ``fit``."""
        return self._ready().info().transitions if self.__sklearn_is_fitted__() else None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_tagger", "_fast")}
