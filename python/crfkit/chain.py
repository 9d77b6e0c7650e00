"""The estimator for sequences."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Sequence

import numpy as np

from crfkit import _crfkit
from crfkit._base import check_lengths, object_array
from crfkit._fit import Trained, development, weights_of
from crfkit._progress import reporter
from crfkit.errors import DataError, SettingError

_CHOICES = ("observed", "all")


class ChainCRF(Trained):
    """A conditional random field for sequences.

    ``X`` is a list of sequences, a sequence is a list of tokens, and ``y`` is a list of lists of labels. A token is a dict
    of features, a list of names of features or, with a ``template``, a word or a list of fields. In a dict, a string
    stands for the feature ``key:value``, a number is the feature's value, a boolean is 1 or 0, and names of nested
    features are joined by colons.

    Parameters
    ----------
    objective : str
        What is minimised: ``likelihood``, ``pseudolikelihood``, ``piecewise``, ``piecewise-pseudo``, ``memm``,
        ``memm-backward``, ``perceptron`` or ``marginal``.
    optimizer : str
        How it is minimised. ``auto`` suits the data; others are ``lbfgs``, ``saga``, ``sgd``, ``adagrad``, ...
    sigma : float, None or "auto"
        Standard deviation of the Gaussian prior; ``None`` or infinity means no prior. ``"auto"`` chooses it by the score on the
        development data, or on a tenth of the data that is held out for the search.
    l1 : float or "auto"
        Weight of the L1 penalty, or ``"auto"`` to choose it in the same way.
    min_count : int
        Features that occur fewer times are ignored.
    states, transitions : {"observed", "all"}
        Which pairs of feature and label, and which pairs of labels, get a weight.
    template : str or None
        The name of a preset (``default``, ``ner``, ``chunking``, ``pos``, ...) or the text of a template in CRF++'s syntax. It makes features
        of words.
    passes : int or None
        The largest number of passes over the data; ``None`` leaves it to the method.
    seed : int
        Seed of all random choices.
    threads : int or None
        Number of threads; ``None`` means all cores. The result does not depend on it.
    patience : int
        With development data, training stops after so many evaluations without a better score.
    warm_start : bool
        Whether ``fit`` starts from the weights of the last fit.
    progress : bool or "auto"
        Whether to show a progress bar. ``auto`` shows one on terminals if tqdm is installed.
    callback : callable or None
        Called with a dict of ``passes``, ``objective``, ``dev_score`` and ``weights``, their number. Training stops if it returns ``False``.
    params : dict or None
        Further settings, such as ``{"eta0": 0.1}``.

    Attributes
    ----------
    model_ : Model
        The trained model.
    classes_ : array
        The labels.
    history_ : dict of lists
        ``passes``, ``objective`` and ``dev_score`` of every report; ``pandas.DataFrame`` takes it as it is.
    stop_reason_ : str
        Why training ended.

    Examples
    --------
    >>> from crfkit import ChainCRF
    >>> X = [["Ada", "sings"], ["dogs", "bark"]]
    >>> crf = ChainCRF(template="default").fit(X, [["NAME", "VERB"], ["NOUN", "VERB"]])
    >>> crf.predict([["Ada", "sings"]])[0]
    ['NAME', 'VERB']
    >>> crf.predict_marginals([["Ada", "sings"]])[0].shape
    (2, 3)
    """

    def __init__(
        self,
        *,
        objective: str = "likelihood",
        optimizer: str = "auto",
        sigma: float | str | None = 1.0,
        l1: float | str = 0.0,
        min_count: int = 1,
        states: str = "observed",
        transitions: str = "observed",
        template: str | None = None,
        passes: int | None = None,
        seed: int = 1,
        threads: int | None = None,
        patience: int = 5,
        warm_start: bool = False,
        progress: bool | str = "auto",
        callback: Callable[[dict[str, Any]], Any] | None = None,
        params: dict[str, Any] | None = None,
    ) -> None:
        self.objective = objective
        self.optimizer = optimizer
        self.sigma = sigma
        self.l1 = l1
        self.min_count = min_count
        self.states = states
        self.transitions = transitions
        self.template = template
        self.passes = passes
        self.seed = seed
        self.threads = threads
        self.patience = patience
        self.warm_start = warm_start
        self.progress = progress
        self.callback = callback
        self.params = params

    def _settings(self, **more: Any) -> str:
        for name in ("states", "transitions"):
            if getattr(self, name) not in _CHOICES:
                raise SettingError(f"{name} is {getattr(self, name)!r}: choose observed or all")
        transitions = None if self.transitions == self.states else self.transitions
        return super()._settings(
            min_count=self.min_count, features=self.states, transitions=transitions, compute="auto", **more
        )

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        X_dev: Sequence[Any] | None = None,
        y_dev: Sequence[Any] | None = None,
        sample_weight: Iterable[float] | None = None,
    ) -> ChainCRF:
        """Train on sequences and their labels.

        ``sample_weight`` has a number for each sequence: 2 counts as if the sequence were there twice, 0 leaves it out.
        With ``X_dev`` and ``y_dev``, the weights with the best score on them are kept. Ctrl-C stops training within a pass, keeps the
        model so far in ``model_``, and raises ``KeyboardInterrupt``.
        """
        check_lengths(X, y)
        dev = development(X_dev, y_dev)
        weights = weights_of(sample_weight, X)
        settings = self._settings()
        with reporter(self.progress, self.callback) as callback:
            run = _crfkit.train(
                X,
                y,
                settings,
                template=self.template,
                dev=dev,
                weights=weights,
                start=self._start(),
                threads=self.threads,
                callback=callback,
            )
        self._take(run)
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

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Iterable[float] | None = None) -> float:
        """The share of tokens whose label is right. ``sample_weight`` has a number for each sequence."""
        check_lengths(X, y)
        return token_accuracy(self.predict(X), y, sample_weight)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, in the order of the columns of ``predict_marginals``."""
        self._check_is_fitted()
        return np.array(self.model_.labels)

    @property
    def feature_names_(self) -> list[str]:
        """The names of the features, in the order of the columns of ``coef_``."""
        self._check_is_fitted()
        return self.model_.coefficients()[0]

    @property
    def coef_(self) -> Any:
        """The weights of features (labels, features): a SciPy CSR matrix, or a plain array if SciPy is not installed."""
        self._check_is_fitted()
        names, rows, columns, values = self.model_.coefficients()
        shape = (len(self.model_.labels), len(names))
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            dense = np.zeros(shape)
            dense[rows, columns] = values
            return dense
        return csr_matrix((values, (rows, columns)), shape=shape)

    @property
    def transitions_(self) -> np.ndarray:
        """The weights of transitions (labels, labels): from the row's label to the column's."""
        self._check_is_fitted()
        return self.model_.transitions()


def token_accuracy(predicted: Iterable[Any], y: Sequence[Any], sample_weight: Iterable[float] | None) -> float:
    """The share of tokens whose label is right."""
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(list(sample_weight), dtype=float)
    right = total = 0.0
    for number, (found, gold) in enumerate(zip(predicted, y)):
        if len(found) != len(gold):
            raise DataError(f"X[{number}] has {len(found)} tokens, but y[{number}] has {len(gold)} labels")
        right += weights[number] * sum(a == b for a, b in zip(found, gold))
        total += weights[number] * len(gold)
    return float(right / total) if total else 1.0
