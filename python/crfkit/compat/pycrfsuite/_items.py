"""Sequences of features."""

from __future__ import annotations

from typing import Any, Iterable, Iterator


def _attributes(item: Any, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Names and values of the attributes of a token."""
    if not isinstance(item, dict):
        for name in item:
            yield prefix + _text(name), 1.0
        return
    for key, value in item.items():
        name = prefix + _text(key)
        if isinstance(value, (str, bytes)):
            yield f"{name}:{_text(value)}", 1.0
        elif isinstance(value, (dict, list, set, tuple, frozenset)):
            yield from _attributes(value, name + ":")
        else:
            yield name, float(value)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if not isinstance(value, str):
        raise TypeError(f"the feature {value!r} is {type(value).__name__}: a feature is a string")
    return value


class ItemSequence:
    """A sequence of features, converted once and used many times.

    >>> ItemSequence([{"word": "Ada", "upper": True}]).items()
    [{'word:Ada': 1.0, 'upper': 1.0}]
    """

    def __init__(self, pyseq: Iterable[Any] = ()) -> None:
        if isinstance(pyseq, (str, bytes)):
            raise TypeError(f"a sequence of features is a list with an entry per token, not {type(pyseq).__name__}")
        self._items = [dict(_attributes(item)) for item in pyseq]

    def items(self) -> list[dict[str, float]]:
        """The features of every token, by name."""
        return [dict(item) for item in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[dict[str, float]]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"
