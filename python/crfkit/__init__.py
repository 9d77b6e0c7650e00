"""Conditional random fields: training and inference, exact and fast.

>>> import crfkit
>>> X = [[{"word": "Ada", "upper": True}, {"word": "sings", "upper": False}],
...      [{"word": "dogs", "upper": False}, {"word": "bark", "upper": False}]]
>>> y = [["NAME", "O"], ["O", "O"]]
>>> crf = crfkit.ChainCRF(sigma=10.0).fit(X, y)
>>> list(crf.predict([[{"word": "Bob", "upper": True}, {"word": "sings", "upper": False}]])[0])
['NAME', 'O']
"""

from crfkit._crfkit import Model, Tagged, Tagger
from crfkit._crfkit import __VERSION__ as __version__
from crfkit.chain import ChainCRF
from crfkit.empirical import EmpiricalTagger
from crfkit.errors import (
    CrfkitError,
    DataError,
    DivergedError,
    ModelFileError,
    NotFittedError,
    SettingError,
)
from crfkit.explain import Contribution, Explanation
from crfkit.factorial import FactorialCRF
from crfkit.graph import GraphCRF
from crfkit.grid import GridCRF
from crfkit.objective import Objective
from crfkit.scores import Scores
from crfkit.skip import SkipChainCRF
from crfkit.spans import Span

__all__ = [
    "ChainCRF",
    "Contribution",
    "CrfkitError",
    "DataError",
    "DivergedError",
    "EmpiricalTagger",
    "Explanation",
    "FactorialCRF",
    "GraphCRF",
    "GridCRF",
    "Model",
    "ModelFileError",
    "NotFittedError",
    "Objective",
    "Scores",
    "SettingError",
    "SkipChainCRF",
    "Span",
    "Tagged",
    "Tagger",
    "__version__",
]
