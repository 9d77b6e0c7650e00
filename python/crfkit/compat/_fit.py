"""Training with CRFsuite's algorithms: what the replacements of both packages share."""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence

from crfkit import _crfkit
from crfkit.compat._parameters import complete, settings, sigma

# Hears the number of an iteration and the state of the run.
Report = Callable[[int, dict[str, Any]], Any]


class Stopping:
    """Counts iterations, and ends a run where CRFsuite would."""

    def __init__(self, algorithm: str, value: dict[str, Any], instances: int, report: Report) -> None:
        self.algorithm, self.value, self.instances, self.report = algorithm, value, max(1, instances), report
        self.losses: list[float] = []
        # The rule that has ended the run here, ``"criterion"`` or ``"iterations"``; ``None`` if none has.
        self.ended: str | None = None

    def __call__(self, state: dict[str, Any]) -> bool | None:
        loss, passes = state["objective"], state["passes"]
        # Online methods also report parts of their first pass.
        if loss is None or (self.algorithm != "lbfgs" and passes != int(passes)):
            return None
        self.losses.append(loss)
        # The first report of L-BFGS is of the start.
        iteration = len(self.losses) - (self.algorithm == "lbfgs")
        self.report(iteration, state)
        if iteration == 0:
            return None
        if self._met(loss):
            self.ended = "criterion"
        elif self.algorithm == "lbfgs" and 0 != self.value["max_iterations"] <= iteration:
            self.ended = "iterations"
        return None if self.ended is None else False

    def _met(self, loss: float) -> bool:
        if self.algorithm not in ("lbfgs", "l2sgd"):
            return bool(loss / self.instances < self.value["epsilon"])
        period = self.value["period"]
        # As in CRFsuite, there is no such rule for L-BFGS without a period.
        if period < 1 and self.algorithm == "lbfgs":
            return False
        period = max(1, period)
        if len(self.losses) <= period or loss == 0:
            return False
        return bool((self.losses[-1 - period] - loss) / loss < self.value["delta"])


def calibrate(x: Sequence[Any], y: Sequence[Any], given: dict[str, Any], tell: Callable[[str], Any]) -> float:
    """The learning rate of l2sgd, found as CRFsuite finds it: one epoch over a sample for each candidate."""
    value = complete("l2sgd", given)
    samples = max(1, min(len(x), int(value["calibration.samples"])))
    step = len(x) / samples
    sample = [int(k * step) for k in range(samples)]
    xs, ys = [x[k] for k in sample], [y[k] for k in sample]
    # The penalty of the whole data, by the share of the sample.
    own = {"sigma": sigma(value["c2"] * samples / max(1, len(x))), "passes": 1}
    # The loss at weights of zero, where all labels are equally likely.
    initial = sum(map(len, ys)) * math.log(len({label for labels in y for label in labels}))

    def loss(eta: float) -> float:
        try:
            run = _crfkit.train(xs, ys, settings("l2sgd", given, eta0=eta, **own))
        except ArithmeticError:
            return math.inf
        if run["raised"] is not None:
            raise run["raised"]
        ends = [objective for _, objective, *_ in run["history"] if objective is not None]
        return ends[-1] if ends else math.inf

    rate, candidates = value["calibration.rate"], int(value["calibration.candidates"])
    if not (rate > 0 and rate != 1 and value["calibration.eta"] > 0):
        raise ValueError("calibration.eta must be above 0, and calibration.rate above 0 and not 1")
    tell(f"Initial loss: {initial:.6f}\n")
    eta, trial, found = float(value["calibration.eta"]), 1, 0
    best = (math.inf, eta)
    decreasing = False
    while found < candidates or not decreasing:
        now = loss(eta)
        good = math.isfinite(now) and now < initial
        tell(f"Trial #{trial} (eta = {eta:.6f}): ")
        tell(f"{now:.6f}\n" if good else f"{now:.6f} (worse)\n")
        if good:
            found += 1
        if now < best[0]:
            best = (now, eta)
        if not decreasing and good and found < candidates:
            eta *= rate
        elif not decreasing:
            decreasing, found = True, 0
            eta = float(value["calibration.eta"]) / rate
        else:
            eta /= rate
        trial += 1
        if trial >= int(value["calibration.max_trials"]) or not 1e-100 < eta < 1e100:
            break
    tell(f"Best learning rate (eta): {best[1]:.6f}\n")
    return best[1]


def fit(
    algorithm: str,
    given: dict[str, Any],
    x: Sequence[Any],
    y: Sequence[Any],
    *,
    dev: Any = None,
    report: Report,
    tell: Callable[[str], Any],
) -> tuple[dict[str, Any], str | None]:
    """Train. Returns the run, and the rule of CRFsuite that has ended it, if one has; exceptions of ``report`` are raised."""
    stopping = Stopping(algorithm, complete(algorithm, given), len(x), report)
    more = {"eta0": calibrate(x, y, given, tell)} if algorithm == "l2sgd" else {}
    run = _crfkit.train(x, y, settings(algorithm, given, **more), dev=dev, callback=stopping)
    if run["raised"] is not None:
        raise run["raised"]
    return run, stopping.ended


def order_of_appearance(y: Sequence[Any], known: Sequence[str]) -> list[str]:
    """The labels in the order in which CRFsuite meets them, which decides between equally good labels."""
    met = dict.fromkeys(label if isinstance(label, str) else str(label) for labels in y for label in labels)
    names = set(known)
    order = [label for label in met if label in names]
    return order + [label for label in known if label not in met]
