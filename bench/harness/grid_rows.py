"""Rows about graphs beyond the chain."""

from __future__ import annotations

import json

from harness.bench import Bench
from harness.measure import Contestant, Row, Sample
from harness.process import run
from harness.tools import build

SIDE, LABELS = "100", "5"
SECONDS = "seconds_per_sweep"
TIMEOUT = 600


def sweep(bench: Bench, row: Row) -> None:
    program = build("loopy_sweep", "-p", "crfkit", "--example", "loopy_sweep")

    def crfkit(tables: str) -> Sample:
        return json.loads(run([program, SIDE, LABELS, tables, "5"], timeout=TIMEOUT).stdout)

    ours = "crfkit, dense tables"
    contestants: dict[str, Contestant] = {
        ours: lambda: crfkit("dense"),
        "crfkit, Potts tables": lambda: crfkit("potts"),
    }
    peer = "PGMax, dense tables, f32, all cores"
    if bench.peers.has("pgmax"):
        contestants[peer] = lambda: bench.peer("pgmax", "sweep", SIDE, LABELS)[0]
    row.take_turns(contestants, bench.rounds)
    if bench.peers.has("pgmax"):
        row.ratio(f"crfkit / {peer}", (ours, SECONDS), (peer, SECONDS), at_most=0.2)
