"""One row of the benchmark: samples of several tools, taken in turns, and the claims that follow from them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from harness.process import CommandFailed


@dataclass(frozen=True)
class Metric:
    unit: str
    better: str  # "lower" or "higher": which end of the samples is the best one
    decimals: int


METRICS = {
    "seconds_per_pass": Metric("s", "lower", 4),
    "seconds_per_sweep": Metric("s", "lower", 5),
    "wall_seconds": Metric("s", "lower", 2),
    "training_seconds": Metric("s", "lower", 2),
    "load_seconds": Metric("s", "lower", 5),
    "objective": Metric("", "lower", 3),
    "passes": Metric("", "lower", 1),
    "features": Metric("", "lower", 0),
    "f1": Metric("%", "higher", 2),
    "accuracy": Metric("%", "higher", 2),
    "tokens_per_second": Metric("1/s", "higher", 0),
    "peak_mb": Metric("MB", "lower", 1),
}

Sample = Mapping[str, "float | Iterable[float]"]
Contestant = Callable[[], Sample]
Of = tuple[str, str]  # (tool, metric)


@dataclass(frozen=True)
class Claim:
    """One number that the project aims at. `value` is from the best samples, `median` from the medians."""

    text: str
    value: float | None
    median: float | None
    relation: str  # ">=", "<=", or "" when there is no aim
    aim: float | None

    @property
    def met(self) -> bool | None:
        if self.value is None or self.aim is None:
            return None
        return self.value >= self.aim if self.relation == ">=" else self.value <= self.aim


@dataclass
class Row:
    name: str
    title: str
    say: Callable[[str], None]
    samples: dict[Of, list[float]] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    errors: dict[str, str] = field(default_factory=dict)

    def take_turns(self, contestants: Mapping[str, Contestant], rounds: int) -> None:
        """Every round runs every tool once, so that a busy minute of the machine meets all of them.

        A tool that fails is left out of the later rounds; the others go on.
        """
        for number in range(1, rounds + 1):
            for tool, contestant in contestants.items():
                if tool not in self.errors:
                    self.say(f"{self.name} {number}/{rounds}: {tool}")
                    self._take(tool, contestant)

    def _take(self, tool: str, contestant: Contestant) -> None:
        try:
            sample = contestant()
        except CommandFailed as error:
            self.errors[tool] = str(error)
            self.say(f"{self.name}: {tool} failed: {error}")
            return
        for metric, values in sample.items():
            if values is not None:
                into = self.samples.setdefault((tool, metric), [])
                into.extend([values] if isinstance(values, (int, float)) else values)

    def best(self, of: Of) -> float | None:
        samples = self.samples.get(of)
        if not samples:
            return None
        return min(samples) if METRICS[of[1]].better == "lower" else max(samples)

    def median(self, of: Of) -> float | None:
        samples = self.samples.get(of)
        return statistics.median(samples) if samples else None

    def claim(
        self,
        text: str,
        formula: Callable[..., float],
        of: Iterable[Of],
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> None:
        """Adds `formula` of the best samples and of the medians; it is left empty where a sample is missing."""
        of = list(of)
        relation = ">=" if at_least is not None else "<=" if at_most is not None else ""
        aim = at_least if at_least is not None else at_most
        value = _apply(formula, [self.best(each) for each in of])
        median = _apply(formula, [self.median(each) for each in of])
        self.claims.append(Claim(text, value, median, relation, aim))

    def ratio(
        self, text: str, over: Of, under: Of, *, at_least: float | None = None, at_most: float | None = None
    ) -> None:
        self.claim(text, lambda a, b: a / b, [over, under], at_least=at_least, at_most=at_most)


def _apply(formula: Callable[..., float], values: list[float | None]) -> float | None:
    if any(value is None for value in values):
        return None
    try:
        return formula(*values)
    except ZeroDivisionError:
        return None
