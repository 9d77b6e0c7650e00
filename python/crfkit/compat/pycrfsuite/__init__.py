"""python-crfsuite's interface: ``import crfkit.compat.pycrfsuite as pycrfsuite``.

>>> from crfkit.compat import pycrfsuite
>>> import tempfile, os
>>> trainer = pycrfsuite.Trainer(verbose=False)
>>> trainer.append([{"word": "Ada"}, {"word": "sings"}], ["NAME", "VERB"])
>>> path = os.path.join(tempfile.mkdtemp(), "model")
>>> trainer.train(path)
>>> tagger = pycrfsuite.Tagger()
>>> with tagger.open(path):
...     tagger.tag([{"word": "Ada"}, {"word": "sings"}])
['NAME', 'VERB']
"""

from crfkit.compat.pycrfsuite._items import ItemSequence
from crfkit.compat.pycrfsuite._tagger import Tagger
from crfkit.compat.pycrfsuite._trainer import BaseTrainer, CRFSuiteError, Trainer

# The version of CRFsuite whose behaviour this module follows.
CRFSUITE_VERSION = "0.12.2"

__all__ = ["CRFSUITE_VERSION", "BaseTrainer", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"]
