"""Writes a log in the form of CRFsuite's, which other programs read."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Callable, Sequence

_TITLES = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "Stochastic Gradient Descent (SGD)",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else str(value)


class Log:
    """The log of one run. ``write`` receives it piece by piece."""

    def __init__(self, write: Callable[[str], Any], algorithm: str, params: dict[str, Any]) -> None:
        self.write, self.algorithm, self.params = write, algorithm, params
        self.begun = self.last = time.process_time()
        self.weights: int | None = None
        # Whether an iteration waits for the empty line that ends it.
        self.open = False

    def _seconds(self) -> float:
        now = time.process_time()
        self.last, past = now, now - self.last
        return past

    def start(self, holdout: int) -> None:
        """The parameters of features, before training begins."""
        if holdout >= 0:
            self.write(f"Holdout group: {holdout + 1}\n")
            self.write("\n")
        self.write("Feature generation\n")
        self.write("type: CRF1d\n")
        for name in ("feature.minfreq", "feature.possible_states", "feature.possible_transitions"):
            self.write(f"{name}: {_text(self.params[name])}\n")

    def features(self, weights: int) -> None:
        """The features are known."""
        if self.weights is not None:
            return
        self.weights = weights
        for percent in range(0, 101, 2):
            self.write("." if percent % 10 else str(percent // 10))
        self.write("\n")
        self.write(f"Number of features: {weights}\n")
        self.write(f"Seconds required: {self._seconds():.3f}\n")
        self.write("\n")
        self.write(_TITLES[self.algorithm] + "\n")
        for name, value in self.params.items():
            if not name.startswith(("feature.", "calibration.")):
                self.write(f"{name}: {_text(value)}\n")
        self.write("\n")

    def iteration(self, number: int, state: dict[str, Any]) -> None:
        """An iteration is done."""
        self.features(state["weights"])
        if number == 0:
            return  # where L-BFGS starts
        self.close()
        self.write(f"***** {'Epoch' if self.algorithm == 'l2sgd' else 'Iteration'} #{number} *****\n")
        self.write(f"Loss: {max(0.0, state['objective']):.6f}\n")
        if self.algorithm == "lbfgs":
            self.write(f"Active features: {state['weights']}\n")
        self.write(f"Seconds required for this iteration: {self._seconds():.3f}\n")
        self.open = True

    def close(self) -> None:
        """End the last iteration."""
        if self.open:
            self.write("\n")
            self.open = False

    def scores(self, labels: Sequence[str], gold: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> None:
        """The scores on held-out data, as a part of the last iteration."""
        pairs = [(a, b) for y, z in zip(gold, found) for a, b in zip(y, z)]
        match = Counter(a for a, b in pairs if a == b)
        ref, model = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
        self.write("Performance by label (#match, #model, #ref) (precision, recall, F1):\n")
        sums = [0.0, 0.0, 0.0]
        for label in labels:
            counts = (match[label], model[label], ref[label])
            precision = counts[0] / counts[1] if counts[1] else 0.0
            recall = counts[0] / counts[2] if counts[2] else 0.0
            f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
            shares = (precision, recall, f1)
            sums = [total + share for total, share in zip(sums, shares)]
            text = ", ".join(f"{share:.4f}" for share in shares) if any(counts) else "******, ******, ******"
            self.write(f"    {label}: ({counts[0]}, {counts[1]}, {counts[2]}) ({text})\n")
        means = ", ".join(f"{total / max(1, len(labels)):.6f}" for total in sums)
        self.write(f"Macro-average precision, recall, F1: ({means})\n")
        right, all_right = sum(match.values()), sum(list(y) == list(z) for y, z in zip(gold, found))
        for what, part, whole in (("Item", right, len(pairs)), ("Instance", all_right, len(gold))):
            self.write(f"{what} accuracy: {part} / {max(1, whole)} ({part / max(1, whole):.4f})\n")

    def end(self, why: str) -> None:
        """Training is done."""
        self.features(0)
        self.close()
        self.write(why + "\n")
        self.write(f"Total seconds required for training: {time.process_time() - self.begun:.3f}\n")
        self.write("\n")

    def stored(self, features: int, attributes: int, labels: int) -> None:
        """The model is written."""
        self._seconds()
        self.write("Storing the model\n")
        self.write(f"Number of active features: {features} ({self.weights})\n")
        self.write(f"Number of active attributes: {attributes} ({attributes})\n")
        self.write(f"Number of active labels: {labels} ({labels})\n")
        for what in ("labels", "attributes", "feature references for transitions", "feature references for attributes"):
            self.write(f"Writing {what}\n")
        self.write(f"Seconds required: {self._seconds():.3f}\n")
        self.write("\n")
