"""Replacements for packages around CRFsuite, with their interfaces.

``crfkit.compat.pycrfsuite`` stands in for python-crfsuite, ``crfkit.compat.sklearn_crfsuite`` for sklearn-crfsuite. Change
the import, and leave the rest of your program as it is. Model files are crfkit's own.

What differs from the originals:

- The algorithms ``pa`` and ``arow`` are missing: they raise ``NotImplementedError``.
- ``l2sgd`` minimises the same objective by another method, which ends closer to the optimum.
- ``max_iterations`` limits the passes over the data, of which an iteration may take more than one.
- ``feature.minfreq`` counts how often an attribute occurs, not how often it occurs with a label.
- Features of a wrong type and parameters that are no numbers raise an error; the originals guess or crash.
- Training without data raises ``CRFSuiteError``.
- The log has other lines; python-crfsuite's parsers of logs are missing, and so is ``trainer_cls``.
- Files that python-crfsuite has written cannot be read yet, nor written for it.
"""
