"""Labelling sequences that come one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from crfkit import _crfkit

# The most sequences that are read ahead: enough for all cores to be busy.
_MOST = 1024


def tagged(tagger: _crfkit.Tagger, xs: Iterable[Any], threads: int | None = None) -> Iterator[_crfkit.Tagged]:
    """Label the sequences of an iterable, a few at a time: ``Tagger.tag_stream`` calls this function.

    The first is labelled as soon as it is there; then twice as many are read ahead each time.

    >>> import crfkit
    >>> X = [[{"word": "Ada", "upper": True}, {"word": "sings"}]]
    >>> tagger = crfkit.ChainCRF().fit(X, [["NAME", "O"]]).model_.tagger()
    >>> for found in tagger.tag_stream(x for x in X):
    ...     print(found.labels)
    ['NAME', 'O']
    """
    if isinstance(xs, (str, bytes, dict)) or not hasattr(xs, "__iter__"):
        raise TypeError(f"X is {type(xs).__name__}: give an iterable of sequences")
    return _tagged(tagger, iter(xs), threads)


def _tagged(tagger: _crfkit.Tagger, xs: Iterator[Any], threads: int | None) -> Iterator[_crfkit.Tagged]:
    ahead = 1
    while True:
        part: list[Any] = []
        failure: Exception | None = None
        try:
            for x in islice(xs, ahead):
                part.append(x)
        except Exception as error:
            failure = error
        try:
            answers = iter(tagger.tag_many(part, threads=threads))
        except Exception:  # one by one, so that those before the one that is wrong have answers
            answers = map(tagger.tag, part)
        yield from answers
        if failure is not None:
            raise failure
        if len(part) < ahead:
            return
        ahead = min(2 * ahead, _MOST)
