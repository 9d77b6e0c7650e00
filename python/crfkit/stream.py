"""Labelling sequences that come one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from crfkit import _crfkit
from crfkit.errors import SettingError

# The size of batches where all sequences are there already: enough for all cores to be busy.
_BATCH = 1024


def tagged(
    tagger: _crfkit.Tagger, xs: Iterable[Any], batch: int | None = None, threads: int | None = None
) -> Iterator[_crfkit.Tagged]:
    """Label the sequences of an iterable: ``Tagger.tag_stream`` calls this function.

    With a ``batch``, so many sequences are read and then labelled together. By default, it is 1024 for lists and tuples. Of other iterables, each
    sequence is labelled as soon as it comes, before the next one is read.

    >>> import crfkit
    >>> X = [[{"word": "Ada", "upper": True}, {"word": "sings"}]]
    >>> tagger = crfkit.ChainCRF().fit(X, [["NAME", "O"]]).model_.tagger()
    >>> for found in tagger.tag_stream(x for x in X):
    ...     print(found.labels)
    ['NAME', 'O']
    """
    if isinstance(xs, (str, bytes, dict)) or not hasattr(xs, "__iter__"):
        raise TypeError(f"X is {type(xs).__name__}: give an iterable of sequences")
    if batch is None:
        batch = _BATCH if isinstance(xs, (list, tuple)) else 1
    elif isinstance(batch, bool) or not isinstance(batch, (int, np.integer)) or batch < 1:
        raise SettingError(f"batch is {batch!r}: give a whole number of at least 1, or None")
    return _tagged(tagger, iter(xs), int(batch), threads)


def _tagged(tagger: _crfkit.Tagger, xs: Iterator[Any], batch: int, threads: int | None) -> Iterator[_crfkit.Tagged]:
    first = 0
    while True:
        part: list[Any] = []
        failure: BaseException | None = None
        try:
            for x in islice(xs, batch):
                part.append(x)
        except Exception as error:
            failure = error
        # Sequences are read once: they may be iterators themselves.
        answers, mistake = _crfkit.tag_part(tagger, part, first, threads)
        yield from answers
        if mistake is not None:
            raise mistake
        if failure is not None:
            raise failure
        if len(part) < batch:
            return
        first += batch
