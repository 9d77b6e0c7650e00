"""A trainer that prints a line for each iteration."""

from __future__ import annotations

from typing import Any

from crfkit.compat.pycrfsuite import Trainer


class LinePerIterationTrainer(Trainer):
    """Prints one line for each iteration, and the scores of held-out data at the end."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Prints the numbers of an iteration."""
        parts = [f"Iter {info['num']:<3}", f"time={info['time']:<5.2f}", f"loss={info['loss']:<8.2f}"]
        if "active_features" in info:
            parts.append(f"active={info['active_features']:<5}")
        if "avg_f1" in info:
            parts += [f"{name}={info['avg_' + name.lower()]:.3f}" for name in ("precision", "recall", "F1")]
            parts.append(f"Acc(item/seq)={info['item_accuracy_float']:.3f} {info['instance_accuracy_float']:.3f}")
        print("  ".join(parts))

    def on_optimization_end(self, log: str) -> None:
        """Prints the scores of every label on held-out data."""
        last = self.logparser.last_iteration if self.logparser is not None else None
        scores = last["scores"] if last is not None else {}
        if scores:
            width = max(map(len, [*scores, "Label"]))
            print(f"{'Label':<{width}}  Precision  Recall     F1  Support")
            for label, score in sorted(scores.items()):
                shares = f"{score.precision or 0:9.3f}  {score.recall or 0:6.3f}  {score.f1 or 0:5.3f}"
                print(f"{label:<{width}}  {shares}  {score.ref:7}")
        super().on_optimization_end(log)
