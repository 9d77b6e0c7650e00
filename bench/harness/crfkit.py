"""crfkit as its users meet it: the program, its run log, its JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from harness.process import CommandFailed, Finished, run

TIMEOUT = 3600


@dataclass(frozen=True)
class Training:
    """One finished `crfkit train`: its log and what the whole process cost."""

    events: list[dict]
    finished: Finished

    def pass_seconds(self) -> list[float]:
        """Seconds per evaluation of the whole training set, between each progress event and the next."""
        progress = [event for event in self.events if event.get("event") == "progress"]
        steps = []
        for before, after in zip(progress, progress[1:]):
            passes = after["passes"] - before["passes"]
            if passes > 0:
                steps.append((after["seconds"] - before["seconds"]) / passes)
        if not steps:
            raise CommandFailed("crfkit train: the log has fewer than two progress events")
        return steps

    def stop(self) -> dict:
        for event in reversed(self.events):
            if event.get("event") == "stop":
                return event
        raise CommandFailed("crfkit train: the log has no stop event")


@dataclass(frozen=True)
class Crfkit:
    binary: Path
    work: Path  # for run logs

    def train(
        self, data: Path, model: Path, *options: str, threads: int = 1, env: dict[str, str] | None = None
    ) -> Training:
        log = self.work / "crfkit.jsonl"
        log.unlink(missing_ok=True)
        command = [self.binary, "train", data, "-m", model, *options]
        command += ["--threads", str(threads), "--log", log, "--quiet"]
        finished = run(command, timeout=TIMEOUT, env=env, keep_output=False)
        if not log.is_file():
            raise CommandFailed("crfkit train: no log was written")
        return Training(read_log(log.read_text(encoding="utf-8")), finished)

    def evaluate(self, model: Path, data: Path, *options: str | Path) -> dict:
        finished = run([self.binary, "eval", "-m", model, data, "--json", *options], timeout=TIMEOUT)
        try:
            return json.loads(finished.stdout)
        except json.JSONDecodeError as error:
            raise CommandFailed(f"crfkit eval --json: no JSON: {error}") from error

    def tag(self, model: Path, data: Path, *, threads: int = 1) -> Finished:
        command = [self.binary, "tag", "-m", model, data, "--threads", str(threads)]
        return run(command, timeout=TIMEOUT, keep_output=False)

    def version(self) -> Finished:
        return run([self.binary, "--version"], timeout=TIMEOUT)


def read_log(text: str) -> list[dict]:
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except json.JSONDecodeError as error:
        raise CommandFailed(f"crfkit train: the log is not JSON lines: {error}") from error
