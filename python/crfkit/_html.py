"""What notebooks show: HTML without scripts, in which everything that comes from data is escaped."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit._crfkit import Model, Tagged

# Pale colours that can be told apart, and on which black text can be read.
_COLOURS = ("#fbd5d5", "#cfe3fb", "#d3f0d0", "#fdeac0", "#e6d8f5", "#c9eeee", "#f6d4ea", "#e3e3c3")
_WEIGHTS = 15
_LABELS = 40
_CELL = "padding:0.1em 0.6em;text-align:left;vertical-align:top"


def _colours(labels: list[str]) -> dict[str, str]:
    return {label: _COLOURS[number % len(_COLOURS)] for number, label in enumerate(sorted(set(labels)))}


def tagged(sequence: Tagged) -> str:
    """The words of a sequence, with a coloured box around every span and its probability as a tooltip."""
    words, labels, spans = sequence.words, sequence.labels, sequence.spans
    kinds = [label.split("-", 1)[-1] for label in labels] if any("-" in label for label in labels) else labels
    colours = _colours(kinds + [span.label for span in spans])
    parts = []
    begun = {span.start: span for span in spans}
    token = 0
    while token < len(words):
        span = begun.get(token)
        if span is None:
            parts.append(f"<span>{escape(words[token])}</span>")
            token += 1
            continue
        text = escape(" ".join(words[span.start : span.end]))
        title = escape(f"{span.label}: probability {span.probability:.4f}", quote=True)
        parts.append(
            f'<span title="{title}" style="background:{colours[span.label]};color:#000;border-radius:0.3em;'
            f'padding:0.1em 0.3em">{text} <small><b>{escape(span.label)}</b></small></span>'
        )
        token = span.end
    return f'<div style="line-height:2">{" ".join(parts)}</div>'


def model(given: Model) -> str:
    """Kind, labels, size, settings and the heaviest weights of a model."""
    count, heaviest = given.heaviest(_WEIGHTS)
    labels = given.labels
    shown = ", ".join(labels[:_LABELS]) + (", …" if len(labels) > _LABELS else "")
    rows = [("kind", given.kind), (f"{len(labels)} labels", shown), ("weights", f"{count:,}")]
    rows += [(name, _plain(value)) for name, value in json.loads(given.settings_json()).items()]
    settings = "".join(f"{_cells(name, value)}" for name, value in rows)
    html = f"<table>{settings}</table>"
    if heaviest:
        head = "".join(f'<th style="{_CELL}">{name}</th>' for name in ("kind", "feature", "labels", "weight"))
        body = "".join(
            _cells(part, observation or "", " → ".join(of), f"{weight:+.4f}") for part, observation, of, weight in heaviest
        )
        html += f"<details><summary>The heaviest weights</summary><table><tr>{head}</tr>{body}</table></details>"
    return f"<div><b>crfkit.Model</b>{html}</div>"


def _cells(*texts: str) -> str:
    cells = "".join(f'<td style="{_CELL}">{escape(text)}</td>' for text in texts)
    return f"<tr>{cells}</tr>"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
