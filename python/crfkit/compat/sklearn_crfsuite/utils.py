"""The helper of sklearn-crfsuite."""

from __future__ import annotations

from itertools import chain
from typing import Any


def flatten(y: Any) -> list[Any]:
    """The items of all sequences in one list.

    >>> flatten([["A", "B"], ["C"]])
    ['A', 'B', 'C']
    """
    return list(chain.from_iterable(y))
