"""Labelled parts of a sequence."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """Tokens ``start`` to ``end``, the last one not included, that are a chunk of type ``label``.

    ``probability`` is that of exactly these tokens being such a chunk, given the whole sequence.

    >>> from crfkit.spans import Span
    >>> Span(0, 2, "NAME", 0.9).label
    'NAME'
    """

    start: int
    end: int
    label: str
    probability: float
