"""sklearn-crfsuite's interface: ``import crfkit.compat.sklearn_crfsuite as sklearn_crfsuite``."""

from crfkit.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF"]
