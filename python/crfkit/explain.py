"""Why tokens have their labels."""

from __future__ import annotations

from typing import NamedTuple


class Contribution(NamedTuple):
    """A part of the lead of the best labelling over its rival.

    ``part`` is the part of the model: ``node`` for a feature of one token, ``transition`` for a pair of labels. ``tokens`` are those whose labels
    matter, ``labels`` their labels in the best labelling and ``rival_labels`` those in the rival. ``amount`` is above 0 if it speaks for
    the best labelling. ``without`` is the label that the token would have without this feature, if that was asked for.

    >>> from crfkit.explain import Contribution
    >>> Contribution("node", "word:Ada", (0,), ("NAME",), ("O",), 1.5, None).amount
    1.5
    """

    part: str
    feature: str | None
    tokens: tuple[int, ...]
    labels: tuple[str, ...]
    rival_labels: tuple[str, ...]
    amount: float
    without: str | None


class Explanation(NamedTuple):
    """Why a token has its label: ``Tagger.explain`` gives one for each token.

    ``rival`` is the token's label in the best labelling that gives it another one, ``None`` if no other is possible; ``difference`` is the
    best score minus that of the rival. ``contributions`` add up to it, the largest first.
    """

    token: int
    label: str
    rival: str | None
    difference: float
    contributions: list[Contribution]
