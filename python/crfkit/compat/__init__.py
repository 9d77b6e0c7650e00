"""Replacements for packages around CRFsuite, with their interfaces.

``crfkit.compat.pycrfsuite`` stands in for python-crfsuite, ``crfkit.compat.sklearn_crfsuite`` for sklearn-crfsuite. Change
the import, and leave the rest of your program as it is. Programs that you cannot change find the replacements under the old names
if you install them there: ``python -m crfkit.compat install DIRECTORY`` with a directory of ``PYTHONPATH``.

Model files are CRFsuite's: files of either side work on the other, with the same labels and probabilities.

What differs from the originals:

- ``lbfgs`` remembers 40 steps unless ``num_memories`` is set, and with ``c1`` moves only the weights that are not 0 by what it remembers. It needs fewer
  iterations, and ends where ``epsilon``, ``period`` and ``delta`` say, mostly with a lower loss.
- ``linesearch`` and ``max_linesearch`` change nothing: the method has a line search of its own.
- Passes far from the optimum compute in single precision.
- ``feature.minfreq`` counts how often an attribute occurs, not how often it occurs with a label.
- Held-out data chooses the weights of the best pass; it is scored once, in the last iteration of the log.
- The order of sequences in ``l2sgd``, ``ap``, ``pa`` and ``arow`` is always the same, so training repeats.
- The log has no norms of weights and gradients, and nothing of the calibration of ``l2sgd``.
- ``CRF`` writes no temporary file: without ``model_filename``, ``modelfile.name`` is ``None``. ``model_.to_crfsuite()`` gives the bytes of the file.
- Training on no data writes an empty model, as there; opening such a model raises ``ValueError``.
- What the originals get wrong is not copied; ``docs/COMPAT.md`` in the source has the list.
"""
