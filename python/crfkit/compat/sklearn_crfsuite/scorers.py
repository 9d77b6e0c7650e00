"""The scorers of sklearn-crfsuite, for scikit-learn's searches. Importing this module imports scikit-learn."""

from sklearn.metrics import make_scorer

from crfkit.compat.sklearn_crfsuite import metrics

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
