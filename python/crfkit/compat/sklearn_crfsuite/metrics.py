"""The metrics of sklearn-crfsuite: scikit-learn's, over the tokens of all sequences."""

from __future__ import annotations

from typing import Any

from crfkit.compat.sklearn_crfsuite.utils import flatten


def flat_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """The share of tokens whose label is right."""
    true, pred = flatten(y_true), flatten(y_pred)
    if len(true) != len(pred):
        raise ValueError(f"y_true has {len(true)} labels, but y_pred has {len(pred)}")
    return sum(a == b for a, b in zip(true, pred)) / len(true) if true else 1.0


def sequence_accuracy_score(y_true: Any, y_pred: Any) -> float:
    """The share of sequences whose labels are all right."""
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} sequences, but y_pred has {len(y_pred)}")
    if not len(y_true):
        return 0.0
    return sum(list(a) == list(b) for a, b in zip(y_true, y_pred)) / len(y_true)


def flat_precision_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """Precision over tokens; keywords are those of scikit-learn."""
    from sklearn import metrics

    return metrics.precision_score(flatten(y_true), flatten(y_pred), **kwargs)


def flat_recall_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """Recall over tokens; keywords are those of scikit-learn."""
    from sklearn import metrics

    return metrics.recall_score(flatten(y_true), flatten(y_pred), **kwargs)


def flat_f1_score(y_true: Any, y_pred: Any, **kwargs: Any) -> Any:
    """F1 over tokens; keywords are those of scikit-learn."""
    from sklearn import metrics

    return metrics.f1_score(flatten(y_true), flatten(y_pred), **kwargs)


def flat_fbeta_score(y_true: Any, y_pred: Any, beta: float, **kwargs: Any) -> Any:
    """F-beta over tokens; keywords are those of scikit-learn."""
    from sklearn import metrics

    return metrics.fbeta_score(flatten(y_true), flatten(y_pred), beta=beta, **kwargs)


def flat_classification_report(y_true: Any, y_pred: Any, labels: Any = None, **kwargs: Any) -> Any:
    """scikit-learn's report over tokens."""
    from sklearn import metrics

    return metrics.classification_report(flatten(y_true), flatten(y_pred), labels=labels, **kwargs)
