"""What notebooks show: HTML without scripts, in which everything that comes from data is escaped."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any, Iterable
from unicodedata import bidirectional

if TYPE_CHECKING:
    from crfkit._crfkit import Model, Tagged

# Pale colours that can be told apart, and on which black text can be read.
_COLOURS = ("#fbd5d5", "#cfe3fb", "#d3f0d0", "#fdeac0", "#e6d8f5", "#c9eeee", "#f6d4ea", "#e3e3c3")
_WEIGHTS = 15
_LABELS = 40
_SHORT = 30
_CELL = "padding:0.1em 0.6em;text-align:left;vertical-align:top;overflow-wrap:anywhere"
# A box that is broken between lines looks the same on both.
_BOX = "color:#000;border-radius:0.3em;padding:0.1em 0.3em;-webkit-box-decoration-break:clone;box-decoration-break:clone"


def _colours(labels: list[str]) -> dict[str, str]:
    return {label: _COLOURS[number % len(_COLOURS)] for number, label in enumerate(sorted(set(labels)))}


def _direction(words: list[str]) -> str:
    """The direction of the first letter that has one."""
    for character in "".join(words):
        found = bidirectional(character)
        if found in ("L", "R", "AL"):
            return "ltr" if found == "L" else "rtl"
    return "ltr"


def tagged(sequence: Tagged) -> str:
    """The words of a sequence, with a coloured box around every span and its probability as a tooltip."""
    words, labels, spans = sequence.words, sequence.labels, sequence.spans
    if not words:
        return "<div><i>an empty sequence</i></div>"
    kinds = [label.split("-", 1)[-1] for label in labels] if any("-" in label for label in labels) else labels
    colours = _colours(kinds + [span.label for span in spans])
    parts = []
    begun = {span.start: span for span in spans}
    token = 0
    while token < len(words):
        span = begun.get(token)
        if span is None:
            parts.append(f"<bdi>{escape(words[token])}</bdi>")
            token += 1
            continue
        text = escape(" ".join(words[span.start : span.end]))
        title = escape(f"{span.label}: probability {span.probability:.4f}", quote=True)
        parts.append(
            f'<bdi title="{title}" style="background:{colours[span.label]};{_BOX}">{text} '
            f"<small><b><bdi>{escape(span.label)}</bdi></b></small></bdi>"
        )
        token = span.end
    return f'<div dir="{_direction(words)}" style="line-height:2;overflow-wrap:anywhere">{" ".join(parts)}</div>'


def model(given: Model) -> str:
    """Kind, labels, size, settings and the heaviest weights of a model."""
    count, heaviest = given.heaviest(_WEIGHTS)
    labels = given.labels
    more = f", … and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
    rows = [("kind", given.kind), ("1 label" if len(labels) == 1 else f"{len(labels)} labels", ", ".join(labels[:_LABELS]) + more)]
    if count:
        rows.append(("weights", f"{count:,}"))
    html = _table(_cells(*row) for row in rows)
    settings = json.loads(given.settings_json()).items()
    html += _details("Settings", _table(_cells(name, _plain(value)) for name, value in settings))
    if heaviest:
        head = "".join(f'<th style="{_CELL};white-space:nowrap">{name}</th>' for name in ("weight", "kind", "labels", "feature"))
        body = (_cells(f"{weight:+.4f}", part, " → ".join(of), feature or "") for part, feature, of, weight in heaviest)
        html += _details("The heaviest weights", _table([f"<tr>{head}</tr>", *body]))
    return f"<div><b>crfkit.Model</b>{html}</div>"


def _details(title: str, html: str) -> str:
    return f"<details><summary>{title}</summary>{html}</details>"


def _table(rows: Iterable[str]) -> str:
    return f"<table>{''.join(rows)}</table>"


def _cells(*texts: str) -> str:
    """A row. Only long texts are broken between lines."""
    style = (f"{_CELL};white-space:nowrap" if len(text) <= _SHORT else _CELL for text in texts)
    cells = "".join(f'<td style="{of}"><bdi>{escape(text)}</bdi></td>' for of, text in zip(style, texts))
    return f"<tr>{cells}</tr>"


def _plain(value: Any) -> str:
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
