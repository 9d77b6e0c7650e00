"""How good a model is on labelled data."""

from __future__ import annotations

from typing import NamedTuple


class Scores(NamedTuple):
    """Scores in per cent, as ``Model.evaluate`` gives them. ``text`` is conlleval's report; ``print`` shows it.

    ``f1``, ``precision`` and ``recall`` are those of chunks, ``None`` where labels mark none.

    >>> from crfkit.scores import Scores
    >>> Scores(None, None, None, 50.0, 0.0, 2, 1, "one of two").accuracy
    50.0
    """

    f1: float | None
    precision: float | None
    recall: float | None
    accuracy: float
    sequence_accuracy: float
    tokens: int
    sequences: int
    text: str

    def __str__(self) -> str:
        return self.text
