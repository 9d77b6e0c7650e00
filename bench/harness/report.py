"""Rows as a table to read and as a JSON document to keep (its format is described in README.md)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path

from harness.machine import slug
from harness.measure import METRICS, Claim, Row
from harness.tools import BENCH

FORMAT = 1
RESULTS = BENCH / "results"


def row_document(row: Row) -> dict:
    results = [
        {
            "tool": tool,
            "metric": metric,
            "unit": METRICS[metric].unit,
            "better": METRICS[metric].better,
            "best": row.best((tool, metric)),
            "median": row.median((tool, metric)),
            "samples": samples,
        }
        for (tool, metric), samples in row.samples.items()
    ]
    claims = [
        {
            "claim": claim.text,
            "value": claim.value,
            "median": claim.median,
            "relation": claim.relation or None,
            "aim": claim.aim,
            "met": claim.met,
        }
        for claim in row.claims
    ]
    errors = [{"tool": tool, "message": message} for tool, message in row.errors.items()]
    return {"name": row.name, "title": row.title, "results": results, "claims": claims, "errors": errors}


def table(rows: Iterable[Row]) -> str:
    return "\n".join(line for row in rows for line in row_lines(row))


def row_lines(row: Row) -> list[str]:
    lines = [f"## {row.name}: {row.title}", "", "| tool | metric | best | median | samples |", "|---|---|--:|--:|--:|"]
    for (tool, metric), samples in row.samples.items():
        best, median = (number(value, metric) for value in (row.best((tool, metric)), row.median((tool, metric))))
        lines.append(f"| {tool} | {metric} | {best} | {median} | {len(samples)} |")
    if row.claims:
        lines += ["", "| ratio or difference | from the best | from the medians | aim | met |", "|---|--:|--:|--:|---|"]
        lines += [claim_line(claim) for claim in row.claims]
    if row.errors:
        lines += ["", *(f"Failed: {tool}: {message}" for tool, message in row.errors.items())]
    return [*lines, ""]


def number(value: float | None, metric: str) -> str:
    return "-" if value is None else f"{value:,.{METRICS[metric].decimals}f}"


def claim_line(claim: Claim) -> str:
    value, median = ("-" if each is None else f"{each:.4g}" for each in (claim.value, claim.median))
    aim = "" if claim.aim is None else f"{claim.relation} {claim.aim:g}"
    met = {True: "yes", False: "no", None: ""}[claim.met]
    return f"| {claim.text} | {value} | {median} | {aim} | {met} |"


def heading(about: dict) -> str:
    """The machine and the versions: what a figure means nothing without."""
    machine, load = about["machine"], about["machine"]["load_average_at_start"]
    commit = (about["commit"] or "unknown")[:12] + (" with local changes" if about["modified"] else "")
    lines = [
        f"# Benchmark of {about['date']}",
        "",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['system']}; load average at the start "
        f"{', '.join(map(str, load))}; commit {commit}; rounds: {about['rounds']}.",
        "",
        "Versions: " + ", ".join(f"{tool} {version}" for tool, version in about["versions"].items()) + ".",
        "",
    ]
    return "\n".join(lines)


def save(about: dict, rows: list[Row], hidden: dict[str, str]) -> tuple[Path, Path]:
    """Writes the document and its table; earlier results are never overwritten.

    `hidden` replaces paths of this machine, which error messages may contain.
    """
    document = {"format": FORMAT, **about, "rows": [row_document(row) for row in rows]}
    stem = unused_stem(f"{about['date']}-{slug(about['machine']['cpu'])}")
    texts = {".json": json.dumps(document, indent=1) + "\n", ".md": heading(about) + "\n" + table(rows)}
    paths = []
    for suffix, text in texts.items():
        for path, replacement in hidden.items():
            text = text.replace(path, replacement)
        paths.append(RESULTS / (stem + suffix))
        paths[-1].write_text(text, encoding="utf-8")
    return paths[0], paths[1]


def unused_stem(wanted: str) -> str:
    RESULTS.mkdir(exist_ok=True)
    stem, number = wanted, 1
    while (RESULTS / f"{stem}.json").exists():
        number += 1
        stem = f"{wanted}-{number}"
    return stem


def today() -> str:
    return date.today().isoformat()
