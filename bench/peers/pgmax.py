"""PGMax's loopy belief propagation. Run as `python -m peers.pgmax sweep SIDE LABELS`; prints one JSON object."""

from __future__ import annotations

import argparse
import json
import types
from time import perf_counter

import jax
import numpy as np

if not hasattr(jax.lib, "xla_bridge"):  # PGMax 0.6.1 asks for the back end in a place that newer releases of JAX do not have
    jax.lib.xla_bridge = types.SimpleNamespace(get_backend=lambda: types.SimpleNamespace(platform=jax.default_backend()))

from pgmax import fgraph, fgroup, infer, vgroup  # noqa: E402  (after the line above)

FEW, MANY = 2, 102  # as in the program that measures crfkit
DAMPING = 0.1


def sweep(options: argparse.Namespace) -> dict:
    """Seconds of one parallel sum-product sweep on a square grid of random tables: many sweeps minus few."""
    side, labels = options.side, options.labels
    random = np.random.default_rng(1)
    variables = vgroup.NDVarArray(num_states=labels, shape=(side, side))
    graph = fgraph.FactorGraph(variable_groups=variables)
    pairs = [[variables[i, j], variables[i + 1, j]] for i in range(side - 1) for j in range(side)]
    pairs += [[variables[i, j], variables[i, j + 1]] for i in range(side) for j in range(side - 1)]
    tables = random.random((len(pairs), labels, labels))
    graph.add_factors(fgroup.PairwiseFactorGroup(variables_for_factors=pairs, log_potential_matrix=tables))
    engine = infer.build_inferer(graph.bp_state, backend="bp")
    start = engine.init(evidence_updates={variables: random.random((side, side, labels))})

    def seconds(sweeps: int) -> float:
        begun = perf_counter()
        jax.block_until_ready(engine.run(start, num_iters=sweeps, damping=DAMPING, temperature=1.0))
        return perf_counter() - begun

    for sweeps in (FEW, MANY):
        seconds(sweeps)  # compiles
    return {"seconds_per_sweep": [(seconds(MANY) - seconds(FEW)) / (MANY - FEW) for _ in range(options.repeat)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    command = parser.add_subparsers(required=True).add_parser("sweep")
    command.add_argument("side", type=int)
    command.add_argument("labels", type=int)
    command.add_argument("--repeat", type=int, default=5)
    print(json.dumps(sweep(parser.parse_args())))


if __name__ == "__main__":
    main()
