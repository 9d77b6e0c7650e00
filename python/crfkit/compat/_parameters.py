"""CRFsuite's parameters, and the settings of crfkit that they stand for."""

from __future__ import annotations

import json
import math
from typing import Any

ALGORITHMS = {
    "lbfgs": "lbfgs",
    "l2sgd": "l2sgd",
    "ap": "averaged-perceptron",
    "averaged-perceptron": "averaged-perceptron",
    "pa": "passive-aggressive",
    "passive-aggressive": "passive-aggressive",
    "arow": "arow",
}

# The name of each parameter, its default, and what it does.
Parameters = dict[str, tuple[Any, str]]

_FEATURES: Parameters = {
    "feature.minfreq": (0.0, "The minimum frequency of features."),
    "feature.possible_states": (False, "Force to generate possible state features."),
    "feature.possible_transitions": (False, "Force to generate possible transition features."),
}
_LBFGS: Parameters = {
    "c1": (0.0, "Coefficient for L1 regularization."),
    "c2": (1.0, "Coefficient for L2 regularization."),
    "max_iterations": (2**31 - 1, "The maximum number of iterations for L-BFGS optimization."),
    "num_memories": (6, "The number of limited memories for approximating the inverse hessian matrix."),
    "epsilon": (1e-5, "Epsilon for testing the convergence of the objective."),
    "period": (10, "The duration of iterations to test the stopping criterion."),
    "delta": (1e-5, "The threshold for the stopping criterion."),
    "linesearch": ("MoreThuente", "The line search algorithm used in L-BFGS updates."),
    "max_linesearch": (20, "The maximum number of trials for the line search algorithm."),
}
_L2SGD: Parameters = {
    "c2": (1.0, "Coefficient for L2 regularization."),
    "max_iterations": (1000, "The maximum number of iterations (epochs) for SGD optimization."),
    "period": (10, "The duration of iterations to test the stopping criterion."),
    "delta": (1e-6, "The threshold for the stopping criterion."),
    "calibration.eta": (0.1, "The initial value of learning rate (eta) used for calibration."),
    "calibration.rate": (2.0, "The rate of increase/decrease of learning rate for calibration."),
    "calibration.samples": (1000, "The number of instances used for calibration."),
    "calibration.candidates": (10, "The number of candidates of learning rate."),
    "calibration.max_trials": (20, "The maximum number of trials of learning rates for calibration."),
}
_ONLINE: Parameters = {
    "max_iterations": (100, "The maximum number of iterations."),
    "epsilon": (0.0, "The stopping criterion (the mean loss)."),
}
_PA: Parameters = {
    "type": (1, "The strategy for updating feature weights: 0 without slack variables, 1 type I, 2 type II."),
    "c": (1.0, "The aggressiveness parameter."),
    "error_sensitive": (True, "Consider the number of incorrect labels to the cost function."),
    "averaging": (True, "Compute the average of feature weights (similarly to Averaged Perceptron)."),
}
_AROW: Parameters = {
    "variance": (1.0, "The initial variance of every feature weight."),
    "gamma": (1.0, "Tradeoff parameter."),
}
DEFAULTS: dict[str, Parameters] = {
    "lbfgs": {**_FEATURES, **_LBFGS},
    "l2sgd": {**_FEATURES, **_L2SGD},
    "averaged-perceptron": {**_FEATURES, **_ONLINE},
    "passive-aggressive": {**_FEATURES, **_PA, **_ONLINE},
    "arow": {**_FEATURES, **_AROW, **_ONLINE},
}
_SEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")
# How many steps L-BFGS remembers, unless the caller says.
_MEMORIES = 40
_SLACK = {0: "none", 1: "linear", 2: "squared"}


def algorithm_name(name: str) -> str:
    """CRFsuite's own name of an algorithm."""
    full = ALGORITHMS.get(str(name).lower())
    if full is None:
        raise ValueError(f"Bad arguments: algorithm={name!r}; choose one of {', '.join(ALGORITHMS)}")
    return full


def converted(name: str, value: Any, default: Any) -> Any:
    """A parameter's value in the type of its default; an error if it has none."""
    try:
        if isinstance(default, bool):
            return bool(int(value))
        if isinstance(default, (int, float)):
            number = float(value)
            if not math.isfinite(number):
                raise ValueError
            return int(number) if isinstance(default, int) else number
    except (TypeError, ValueError):
        raise ValueError(f"parameter {name} is {value!r}: give a number") from None
    return str(value)


def complete(algorithm: str, given: dict[str, Any]) -> dict[str, Any]:
    """All parameters of an algorithm: those that are given, and the defaults of the others."""
    return {name: default for name, (default, _) in DEFAULTS[algorithm].items()} | given


def used(algorithm: str, given: dict[str, Any]) -> dict[str, Any]:
    """The parameters that training uses."""
    # More memories take fewer iterations, and memory is no longer scarce.
    return complete(algorithm, {"num_memories": _MEMORIES} | given if algorithm == "lbfgs" else given)


def sigma(c2: float) -> float | None:
    """The σ of CRFsuite's penalty c2·‖w‖², which is ‖w‖²/(2σ²); ``None`` for no prior."""
    return None if c2 == 0 else 1 / math.sqrt(2 * c2)


def settings(algorithm: str, given: dict[str, Any], **more: Any) -> str:
    """The settings of crfkit for an algorithm with these parameters, as JSON."""
    value = used(algorithm, given)
    _check(value)
    passes = int(value["max_iterations"])
    common: dict[str, Any] = {
        "min_count": max(1, math.ceil(value["feature.minfreq"])),
        "features": "all" if value["feature.possible_states"] else "observed",
        "transitions": "all" if value["feature.possible_transitions"] else "observed",
        # Iterations of L-BFGS, which may take more than one pass, are counted by ``Stopping``.
        "passes": None if algorithm == "lbfgs" or passes >= 2**31 - 1 else max(1, passes),
        # CRFsuite knows no rules on labels, and its penalty is that of the weights in the model.
        "constraint": "none",
        "scaling": "none",
    }
    return json.dumps(common | _method(algorithm, value) | more)


def _check(value: dict[str, Any]) -> None:
    """Refuse values that no training could use."""
    for name in ("c", "variance", "gamma"):
        if name in value and not value[name] > 0:
            raise ValueError(f"parameter {name} is {value[name]!r}: give a number above 0")
    for name in ("c1", "c2", "epsilon"):
        if name in value and not value[name] >= 0:
            raise ValueError(f"parameter {name} is {value[name]!r}: give a number of at least 0")
    if value.get("num_memories", 1) < 1:
        raise ValueError(f"parameter num_memories is {value['num_memories']!r}: give a whole number of at least 1")
    if value.get("linesearch", _SEARCHES[0]) not in _SEARCHES:
        raise ValueError(f"parameter linesearch is {value['linesearch']!r}: choose one of {', '.join(_SEARCHES)}")


def _method(algorithm: str, value: dict[str, Any]) -> dict[str, Any]:
    """The settings that differ between algorithms."""
    margin: dict[str, Any] = {"objective": "perceptron", "sigma": None}
    if algorithm == "averaged-perceptron":
        return margin | {"optimizer": "sgd", "eta0": 1.0, "batch": 1, "average": True}
    if algorithm == "passive-aggressive":
        if value["type"] not in _SLACK:
            raise ValueError(f"parameter type is {value['type']!r}: give 0, 1 or 2")
        return margin | {
            "optimizer": "pa",
            "aggressiveness": value["c"],
            "slack": _SLACK[value["type"]],
            "margin": "root" if value["error_sensitive"] else "one",
            "average": value["averaging"],
        }
    if algorithm == "arow":
        return margin | {"optimizer": "arow", "variance": value["variance"], "gamma": value["gamma"]}
    penalty = {"sigma": sigma(value["c2"])}
    if algorithm == "l2sgd":
        return penalty | {"optimizer": "bottou", "batch": 1}
    # The objective is watched by ``Stopping``, since the period is CRFsuite's.
    stop = {"memory": value["num_memories"], "gradient_tolerance": value["epsilon"], "tolerance": 0.0}
    return penalty | {"optimizer": "lbfgs", "l1": value["c1"], "compute": "auto"} | stop
