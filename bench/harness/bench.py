"""What every row works with: the data, crfkit and the peers, and how their answers become samples."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from harness.crfkit import Crfkit, Training
from harness.data import Data
from harness.measure import Sample
from harness.process import Finished
from harness.tools import Peers

PEER_TIMEOUT = 3600

# L-BFGS with a tight rule: the budget is there only to end a run that has gone wrong.
TO_THE_OPTIMUM = ("--optimizer", "lbfgs", "--tolerance", "1e-7", "--passes", "5000")


@dataclass(frozen=True)
class Bench:
    data: Data
    crfkit: Crfkit
    peers: Peers
    work: Path  # for models
    rounds: int
    iterations: int  # of CRFsuite, in the rows that time single passes
    say: Callable[[str], None]

    def crfsuite_train(
        self, attributes: Path, model: Path, *, c1: float = 0.0, c2: float, iterations: int | None = None
    ) -> tuple[dict, Finished]:
        limit = [] if iterations is None else ["--iterations", str(iterations)]
        return self.peer("crfsuite", "train", attributes, model, "--c1", str(c1), "--c2", str(c2), *limit)

    def crfsuite_f1(self, model: Path, attributes: Path) -> float:
        return self.peer("crfsuite", "evaluate", model, attributes)[0]["f1"]

    def peer(self, module: str, *arguments: str | Path) -> tuple[dict, Finished]:
        return self.peers.call(module, *arguments, timeout=PEER_TIMEOUT)

    def compliant_train(self, attributes: Path, model: Path, *, c2: float, iterations: int) -> Finished:
        settings = ["-a", "lbfgs", "-p", f"c2={c2}", "-p", f"max_iterations={iterations}", "-m", model]
        return self.peers.run("crfsuite-compliant-rs", "learn", *settings, attributes, timeout=PEER_TIMEOUT)

    def compliant_tag(self, model: Path, attributes: Path) -> Finished:
        command = ("tag", "-m", model, attributes)
        return self.peers.run("crfsuite-compliant-rs", *command, timeout=PEER_TIMEOUT, keep_output=False)

    def crfs_tag(self, model: Path, attributes: Path) -> Sample:
        return json.loads(self.peers.run("crfs", model, attributes, "3", timeout=PEER_TIMEOUT).stdout)

    def crfkit_train_attributes(
        self,
        attributes: Path,
        model: Path,
        *options: str,
        c2: float,
        threads: int = 1,
        env: dict[str, str] | None = None,
    ) -> Training:
        settings = ("--format", "attributes", "--sigma", sigma(c2), *options)
        return self.crfkit.train(attributes, model, *settings, threads=threads, env=env)


def sigma(c2: float) -> str:
    """CRFsuite's penalty c2·‖w‖² is crfkit's ‖w‖²/(2σ²)."""
    return f"{sqrt(1 / (2 * c2)):.17g}"


def crfsuite_result(answer: dict, process: Finished, f1: float) -> Sample:
    return {
        "wall_seconds": process.wall_seconds,
        "training_seconds": answer["training_seconds"],
        "passes": sum(each["evaluations"] for each in answer["iterations"]),
        "objective": answer["objective"],
        "features": answer["features"],
        "f1": f1,
    }


def crfkit_result(run: Training, f1: float) -> Sample:
    stop = run.stop()
    return {
        "wall_seconds": run.finished.wall_seconds,
        "passes": stop["passes"],
        "objective": stop["objective"],
        "features": stop.get("features"),
        "f1": f1,
    }
