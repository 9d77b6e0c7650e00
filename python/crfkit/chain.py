"""The estimator for sequences."""

from __future__ import annotations

from os import PathLike
from typing import Any, Callable, Iterable, Mapping, Sequence

import numpy as np

from crfkit import _crfkit
from crfkit._base import Labels, check_lengths, known_labels, weights_of
from crfkit._fit import Trained, development, label_weights_of, text_of, token_weights_of
from crfkit.errors import SettingError

_CHOICES = ("observed", "all")


class ChainCRF(Labels, Trained[_crfkit.Tagger]):
    """A conditional random field for sequences.

    ``X`` is a list of sequences, a sequence is a list of tokens, and ``y`` is a list of lists of labels. A token is a dict
    of features, a list of names of features or, with a ``template``, a word or a list of fields. In a dict, a string
    stands for the feature ``key:value``, a number is the feature's value, a boolean is 1 or 0, and names of nested
    features are joined by colons.

    A sequence may also be an array of numbers (tokens, numbers), such as embeddings or measurements, or a tuple ``(tokens, array)`` of both.
    Every token must have the same number of values, which are stored in single precision.

    Parameters
    ----------
    objective : str
        What is minimised: ``likelihood``, ``pseudolikelihood``, ``piecewise``, ``piecewise-pseudo``, ``memm``,
        ``memm-backward``, ``perceptron``, ``marginal``, ``softmax-margin`` or ``max-margin``.
    optimizer : str
        How it is minimised. ``auto`` chooses a method by the data; others are ``lbfgs``, ``saga``, ``sgd``, ``adagrad``, ...
    sigma : float, None or "auto"
        Standard deviation of the Gaussian prior; ``None`` or infinity means no prior. ``"auto"`` chooses it by the score on the
        development data, or on a tenth of the data that is held out for the search.
    l1 : float or "auto"
        Weight of the L1 penalty, or ``"auto"`` to choose it in the same way.
    min_count : int
        Features that occur fewer than this many times are ignored.
    states, transitions : {"observed", "all"}
        Which pairs of feature and label, and which pairs of labels, get a weight.
    template : str or None
        The name of a preset (``default``, ``ner``, ``chunking``, ``pos``, ...) or the text of a template in CRF++'s syntax. It makes features
        of words.
    constraint : str or None
        Rules on labels that hold in training and afterwards: ``"iob2"``, ``"iobes"``, or rules of your own, one on a line, such as
        ``"forbid O I-*"``, ``"forbid begin I-*"`` or ``"only B-QTY -> I-QTY B-UNIT"``. ``"none"`` makes every labelling possible. By default,
        labels that are in IOB2 in all training sequences stay so when the model is applied.
    partial_labels : bool
        Whether labels may be missing in ``y``: ``None`` (or ``"?"``, or a masked element of a NumPy array) is a label that is not known, and a set
        or tuple (or ``"A|B"``) is one of several. Training sums over what is not known.
    class_weight : dict or None
        Weights of labels: the weight of a sequence is multiplied by the largest weight of its labels. Others have 1.
    standardise : bool
        Whether the numbers of arrays get mean 0 and standard deviation 1 in the training data. The model treats new data in the same way.
    passes : int or None
        The largest number of passes over the data; with ``None``, the method decides.
    seed : int
        Seed of all random choices.
    threads : int or None
        Number of threads; ``None`` means all cores. The result does not depend on it.
    patience : int
        With development data, training stops after this many evaluations without a better score.
    warm_start : bool
        Whether ``fit`` starts from the weights of the last fit. The model has only the labels and features of the new data; to keep the old ones
        too, use ``partial_fit``. A run that resumes from its ``checkpoint`` continues where it was instead.
    progress : bool or "auto"
        Whether to show a progress bar, for which tqdm must be installed. ``auto`` shows one on terminals and in notebooks.
    callback : callable or None
        Called during training with a dict of ``phase``, ``passes``, ``objective``, ``dev_score`` and ``weights`` (the number of weights). Training
        stops if it returns ``False``. The phase is ``"training"``, after ``"penalties"`` if ``"auto"`` tries some, and after ``"first weights"`` if these
        are computed, as for images and graphs. Each phase counts its own passes.
    checkpoint : path or None
        A file for the state of the run. It is written every ten seconds, and when Ctrl-C or the callback stops the run. If the file exists, ``fit``
        resumes that run and ends in the same model; a file that belongs to other data or parameters is an error. The file is removed when
        training ends by itself. With ``warm_start``, a resumed run still starts from the model that the interrupted run started from. There is no file
        yet while ``"auto"`` tries penalties (an interruption is then a ``RuntimeWarning``) or while first weights are computed: the next ``fit``
        begins anew. Do not use a checkpoint in searches and cross-validation, where many runs would share the file. ``partial_fit`` ignores it.
    params : dict or None
        Further settings, such as ``{"eta0": 0.1}``, or ``{"order": 2}`` for weights of three neighbouring labels.

    Attributes
    ----------
    model_ : Model
        The trained model.
    classes_ : array
        The labels.
    history_ : dict of lists
        ``passes``, ``objective`` and ``dev_score`` of every report of the phase ``"training"``; ``pandas.DataFrame`` takes it as it is.
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

    _kind = "chain"
    min_count: int
    states: str
    transitions: str
    template: str | None
    constraint: str | None
    partial_labels: bool
    class_weight: Mapping[str, float] | None
    standardise: bool

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
        constraint: str | None = None,
        partial_labels: bool = False,
        class_weight: Mapping[str, float] | None = None,
        standardise: bool = False,
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
        token_weight: Iterable[Iterable[float]] | None = None,
    ) -> ChainCRF:
        """Train on sequences and their labels.

        ``sample_weight`` has a number for each sequence: 2 counts as if the sequence were there twice, 0 leaves it out. ``token_weight`` has
        a list of numbers for each sequence, one for each token; it is for objectives that are sums over tokens or have a cost for each, such as
        ``marginal`` and ``softmax-margin``, and an error for the others, such as the likelihood.
        With ``X_dev`` and ``y_dev``, the weights with the best score on them are kept. Ctrl-C stops training within a pass, keeps the
        model so far in ``model_``, and raises ``KeyboardInterrupt``.
        """
        check_lengths(X, y)
        dev = development(X_dev, y_dev)
        reading = self._reading(X, sample_weight, token_weight)
        return self._run(_crfkit.train, X, y, self._settings(), reading, dev=dev, start=self._start(), checkpoint=self._checkpoint())

    def partial_fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        *,
        classes: Iterable[str] | None = None,
        sample_weight: Iterable[float] | None = None,
        token_weight: Iterable[Iterable[float]] | None = None,
    ) -> ChainCRF:
        """Continue training the model with more sequences; the first call trains a new one.

        The model keeps its labels and features, and new ones are added. Training starts from its weights, which are also the mean of the prior: weights
        that the new sequences do not touch keep their values, and a smaller ``sigma`` keeps the others closer to what was learned before. ``classes``
        may name labels that only later calls will have. A call makes at most ``passes`` passes over the new sequences; by default the method stops by
        itself, after about ten. The numbers of arrays are standardised as in the first call.
        """
        check_lengths(X, y)
        for name in ("sigma", "l1"):
            if getattr(self, name) == "auto":
                raise SettingError(f"{name} is 'auto', which needs all data at once: give a number, or call fit")
        if self.l1 != 0:
            raise SettingError(f"l1 is {self.l1!r}, which would weaken the model with every call of partial_fit: give 0, or call fit")
        start = self.model_ if self.__sklearn_is_fitted__() else None
        if start is not None and self.passes == 1 and self.optimizer in ("auto", "saga"):
            raise SettingError("passes is 1, in which this method does not move from its start: give 2 or more, or optimizer='adagrad'")
        labels = None if classes is None else _classes(classes)
        more: dict[str, Any] = {"start": start, "go_on": start is not None, "labels": labels}
        return self._run(_crfkit.train, X, y, self._settings(), self._reading(X, sample_weight, token_weight), **more)

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: Iterable[float] | None = None) -> float:
        """The share of tokens whose label is right. ``sample_weight`` has a number for each sequence. Tokens without a label do not count.

        With ``partial_labels``, labels may be missing in ``y`` as in ``fit``; one of several is right if it is among them.
        """
        check_lengths(X, y)
        return super().score(X, [known_labels(labels) for labels in y] if self.partial_labels else y, sample_weight)

    def _reading(self, X: Sequence[Any], sample_weight: Any, token_weight: Any) -> dict[str, Any]:
        """How the extension module reads the sequences."""
        return {
            "template": text_of("template", self.template),
            "weights": weights_of(sample_weight, X),
            "token_weights": token_weights_of(token_weight, X),
            "label_weights": label_weights_of(self.class_weight),
            "partial_labels": bool(self.partial_labels),
            "constraint": text_of("constraint", self.constraint),
            "standardise": bool(self.standardise),
        }

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


def _classes(classes: Any) -> list[str]:
    """Labels that are still to come."""
    if isinstance(classes, (str, bytes)) or not hasattr(classes, "__iter__"):
        raise TypeError(f"classes is {classes!r:.60}: give a list of labels")
    labels = list(classes)
    for number, label in enumerate(labels):
        if not isinstance(label, str) or not label:
            raise TypeError(f"classes[{number}] is {label!r:.60}: labels are strings that are not empty")
    return [str(label) for label in labels]
