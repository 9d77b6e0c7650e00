"""The list of rows: add a function to training_rows, tagging_rows or grid_rows, and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness import grid_rows, tagging_rows, training_rows
from harness.bench import Bench
from harness.measure import Row
from harness.process import CommandFailed


@dataclass(frozen=True)
class RowPlan:
    title: str
    measure: Callable[[Bench, Row], None]


ROWS = {
    "pass-22": RowPlan("seconds per L-BFGS pass, CoNLL-2000, 22 labels, 452,755 features", training_rows.pass_22),
    "auto-22": RowPlan("CoNLL-2000 from file to model: crfkit's default against CRFsuite's L-BFGS", training_rows.auto_22),
    "labels-174": RowPlan("seconds per L-BFGS pass, Brown corpus, 174 labels", training_rows.labels_174),
    "tag": RowPlan("tokens per second, CoNLL-2000 test set", tagging_rows.tag),
    "load": RowPlan("seconds to load a model of 452,755 features", tagging_rows.load),
    "memory": RowPlan("peak memory of training, CoNLL-2000, 452,755 features", training_rows.memory),
    "all-22": RowPlan("CoNLL-2000 with all labels of every observation: 7,448,606 weights", training_rows.all_22),
    "base-np": RowPlan("base NP, 3 labels, to the optimum", training_rows.base_np),
    "elastic-net": RowPlan("CoNLL-2000 with L1 and L2, c1 = c2 = 0.1, to 0.5 % above the optimum", training_rows.elastic_net),
    "brown": RowPlan("Brown corpus, 32,623 sentences, parts of speech, the default command", training_rows.brown),
    "second-order": RowPlan("base NP by second-order chains", training_rows.second_order),
    "letters": RowPlan("letters of 16 × 8 pixels, 26 labels: as a matrix and as attributes", training_rows.letters_row),
    "embeddings": RowPlan("words with vectors of 300 numbers, 22 labels: as a matrix and as attributes", training_rows.embeddings_row),
    "sweep": RowPlan("one parallel sweep of loopy belief propagation, 100 × 100 grid, 5 labels", grid_rows.sweep),
}


def run_row(name: str, bench: Bench) -> Row:
    plan = ROWS[name]
    row = Row(name, plan.title, bench.say)
    try:
        plan.measure(bench, row)
    except CommandFailed as error:  # something that the whole row stands on
        row.errors["preparation"] = str(error)
        bench.say(f"{name}: {error}")
    return row
