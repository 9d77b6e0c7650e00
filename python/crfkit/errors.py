"""The exceptions of the package."""


class CrfkitError(Exception):
    """Base class of the exceptions that only this package raises."""


class DataError(CrfkitError, ValueError):
    """The data cannot be used. The message names the sequence and the token."""


class SettingError(CrfkitError, ValueError):
    """A setting cannot be used. The message names it and says what to choose."""


class ModelFileError(CrfkitError, ValueError):
    """A file is damaged, or is not a model file."""


class DivergedError(CrfkitError, ArithmeticError):
    """The objective or the weights became infinite during training."""


class NotFittedError(CrfkitError, ValueError, AttributeError):
    """The estimator has no model yet: call ``fit`` first."""
