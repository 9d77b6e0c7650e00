"""Small generated problems for every kind of model, each with the arguments of `crfkit train` and `crfkit eval`."""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

KINDS = ("chain", "factorial", "skip-chain", "file", "grid")
REAL_KINDS = ("chain", "file", "grid")  # those whose inputs may hold numbers
ENGINES = ("exact", "loopy-bp", "trw", "mean-field")
WITH_ENGINE = ("likelihood", "marginal")
WITHOUT_ENGINE = ("pseudolikelihood", "piecewise", "piecewise-pseudo", "perceptron", "max-margin")
ON_CHAINS = ("likelihood", "marginal", *WITHOUT_ENGINE, "memm", "memm-backward")
SCALES = {"dense": 1.0, "one-hot": 1.0, "thousands": 1e3, "millions": 1e6, "thousandths": 1e-3, "mixed": 1e4}
FAR = 1000.0  # where the numbers of "far" features are, which are as large as "dense" ones otherwise


@dataclass(frozen=True)
class Problem:
    """What is generated, and how it is trained."""

    kind: str
    features: str = "one-hot"  # a key of SCALES, or "far"; of "mixed", every other number is large
    labels: int = 4
    stay: float = 0.85  # how often neighbours have the same label
    noise: str = "noisy"  # or separable, contradictory, vague: numbers that overlap widely
    shape: tuple[int, int] = (60, 12)  # of chains: sequences and tokens of each
    constants: int = 0  # attributes that every token has
    full: bool = False  # tables with a weight for each pair of labels and each feature
    options: tuple[str, ...] = field(default=())  # besides the defaults

    @property
    def name(self) -> str:
        parts = [self.kind, self.features, f"{self.labels} labels", f"stay {self.stay:g}", self.noise]
        if self.shape != Problem.shape:
            parts.append(f"{self.shape[0]} sequences of {self.shape[1]} tokens")
        if self.constants:
            parts.append(f"{self.constants} constants")
        return ", ".join(parts + ["full tables"] * self.full)


def problems() -> Iterator[Problem]:
    """All problems, each once."""
    seen = set()
    for problem in (*_objectives(), *_data()):
        if problem not in seen:
            seen.add(problem)
            yield problem


def _objectives() -> Iterator[Problem]:
    """Every objective on every kind of graph with every engine."""
    for objective in ON_CHAINS:
        yield Problem("chain", options=_objective(objective))
    for kind in KINDS[1:]:
        yield Problem(kind)
        for objective in WITHOUT_ENGINE:
            yield Problem(kind, options=_objective(objective))
        for objective in WITH_ENGINE:
            for engine in ENGINES:
                yield Problem(kind, options=(*_objective(objective), "--inference", engine))


def _objective(name: str) -> tuple[str, ...]:
    return ("--objective", name)


def _data() -> Iterator[Problem]:
    """The defaults on every kind of data."""
    for kind in REAL_KINDS:
        usual = Problem(kind)
        yield from (replace(usual, features=features) for features in SCALES)
        if kind != "chain":  # its inputs are attribute lists, in which a value of 0 is left out
            yield replace(usual, features="far")
        yield from (replace(usual, labels=labels) for labels in (2, 10, 20, 50))
        yield from (replace(usual, stay=stay) for stay in (0.3, 0.99))
        yield from (replace(usual, noise=noise) for noise in ("separable", "contradictory"))
        yield from (replace(usual, options=("--sigma", sigma)) for sigma in ("0.01", "0.1", "10", "100"))
        yield from (Problem(kind, "dense", labels, 0.97, "vague") for labels in (2, 3))
        yield replace(usual, noise="separable", options=("--sigma", "100"))
        yield replace(usual, features="millions", options=("--sigma", "100"))
        yield replace(usual, features="millions", noise="separable", options=("--sigma", "0.01"))
    # Few or long sequences, on which the first steps of online methods may be far too long.
    for shape in ((3, 4), (1, 1000), (2, 500), (40, 100)):
        for features, constants in (("one-hot", 0), ("dense", 1), ("dense", 60)):
            for sigma in ((), ("--sigma", "0.3"), ("--sigma", "2.5")):
                yield Problem("chain", features, shape=shape, constants=constants, options=sigma)
    # Few, frequent and correlated features, on which steps must be short.
    for features in ("one-hot", "dense"):
        for constants in (15, 60):
            for sigma in ((), ("--sigma", "0.3"), ("--sigma", "2.5")):
                yield Problem("chain", features, labels=10, shape=(300, 12), constants=constants, options=sigma)
    for kind in ("file", "grid"):
        yield Problem(kind, full=True, labels=11)
        yield Problem(kind, full=True, labels=11, features="dense", noise="separable")
        yield Problem(kind, full=True, features="thousands")


def generate(problem: Problem, folder: Path, seed: int) -> tuple[list[str], list[str], list[int]]:
    """Writes the data; returns the arguments of `train`, those of `eval`, and all gold labels."""
    folder.mkdir(parents=True, exist_ok=True)
    write = {"chain": _chains, "factorial": _columns, "skip-chain": _columns, "file": _graphs, "grid": _images}
    return write[problem.kind](problem, folder, random.Random(seed))


def _walk(problem: Problem, length: int, chance: random.Random) -> list[int]:
    labels = [chance.randrange(problem.labels)]
    while len(labels) < length:
        stays = chance.random() < problem.stay
        labels.append(labels[-1] if stays else chance.randrange(problem.labels))
    return labels


def _field(problem: Problem, side: int, chance: random.Random) -> list[list[int]]:
    """A labelled square: each cell takes the label of its left or upper neighbour, or a new one."""
    rows: list[list[int]] = []
    for row in range(side):
        rows.append([])
        for column in range(side):
            near = ([rows[row][column - 1]] if column else []) + ([rows[row - 1][column]] if row else [])
            stays = near and chance.random() < problem.stay
            rows[row].append(chance.choice(near) if stays else chance.randrange(problem.labels))
    return rows


def _seen(problem: Problem, label: int, chance: random.Random) -> int:
    """The label that the features of a site point to."""
    wrong = {"separable": 0.0, "vague": 0.0, "noisy": 0.25, "contradictory": 1.0}[problem.noise]
    return chance.randrange(problem.labels) if chance.random() < wrong else label


def _numbers(problem: Problem, label: int, chance: random.Random) -> list[float]:
    """The numbers of a site with this label."""
    seen = _seen(problem, label, chance)
    if problem.features == "one-hot":
        return [float(k == seen) for k in range(problem.labels)]
    width = max(2, math.ceil(math.log2(problem.labels)))
    spread = {"separable": 0.05, "vague": 1.2}.get(problem.noise, 0.6)
    exact = [2.0 * (seen >> k & 1) - 1.0 for k in range(width)]
    if problem.features == "far":
        return [FAR + x + chance.gauss(0.0, spread) for x in exact]
    scale = [SCALES[problem.features] if problem.features != "mixed" or k % 2 else 1.0 for k in range(width)]
    return [s * (x + chance.gauss(0.0, spread)) for s, x in zip(scale, exact)]


def _chains(problem: Problem, folder: Path, chance: random.Random):
    path, gold, lines = folder / "train.attributes", [], []
    sequences, tokens = problem.shape
    for _ in range(sequences):
        for label in _walk(problem, tokens, chance):
            gold.append(label)
            numbers = _numbers(problem, label, chance)
            values = [f"x{k}:{x:.6g}" for k, x in enumerate(numbers) if x != 0.0]
            lines.append("\t".join([f"L{label}", *values, *(f"c{k}" for k in range(problem.constants))]))
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(path)]
    return [*files, "--format", "attributes", *problem.options], files, gold


def _columns(problem: Problem, folder: Path, chance: random.Random):
    path, gold, lines = folder / "train.txt", [], []
    for _ in range(40):
        for label in _walk(problem, 8, chance):
            gold.append(label)
            other = f" M{label % 2}" if problem.kind == "factorial" else ""
            lines.append(f"w{_seen(problem, label, chance)} p{chance.randrange(3)}{other} L{label}")
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    kind = {
        "factorial": ["--graph", "factorial", "--label-column", "2,3"],
        "skip-chain": ["--graph", "skip-chain", "--skip", "same(0)"],
    }[problem.kind]
    template = folder / "template"
    template.write_text("U0:%x[0,0]\nU1:%x[0,1]\nB\n", encoding="utf-8")
    return [str(path), *kind, "--template", str(template), *problem.options], [str(path)], gold


def _graph_count(problem: Problem) -> int:
    return 3 if problem.labels >= 50 else 10


def _side(problem: Problem) -> int:
    exact = "exact" in problem.options
    return 4 if exact and problem.labels <= 4 else 8


def _graphs(problem: Problem, folder: Path, chance: random.Random):
    path, gold = folder / "train.jsonl", []
    width = len(_numbers(problem, 0, random.Random(0)))
    pair = {"over": ["cell", "cell"], **({"dense": 2 * width} if problem.full else {"table": "potts"})}
    lines = [{"types": {"cell": {"labels": problem.labels, "dense": width}, "beside": pair}}]
    for _ in range(_graph_count(problem)):
        rows = _field(problem, _side(problem), chance)
        numbers = [[_numbers(problem, label, chance) for label in row] for row in rows]
        graph = {"nodes": [], "factors": []}
        for i, row in enumerate(rows):
            for j, label in enumerate(row):
                gold.append(label)
                graph["nodes"].append({"type": "cell", "label": label, "dense": numbers[i][j]})
                for other in ((i, j - 1), (i - 1, j)):
                    if min(other) >= 0:
                        nodes = [other[0] * len(row) + other[1], i * len(row) + j]
                        both = {"dense": numbers[other[0]][other[1]] + numbers[i][j]} if problem.full else {}
                        graph["factors"].append({"type": "beside", "nodes": nodes, **both})
        lines.append(graph)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return ["--graph", "file", str(path), *problem.options], [str(path)], gold


def _images(problem: Problem, folder: Path, chance: random.Random):
    gold = []
    for name in ("images", "masks"):
        (folder / name).mkdir(exist_ok=True)
    for number in range(_graph_count(problem)):
        rows = _field(problem, _side(problem), chance)
        gold.extend(label for row in rows for label in row)
        numbers = [[_numbers(problem, label, chance) for label in row] for row in rows]
        _array(folder / "images" / f"{number}.npy", numbers)
        _array(folder / "masks" / f"{number}.npy", rows)
    files = ["--images", str(folder / "images"), "--masks", str(folder / "masks")]
    tables = ["--tables", "full"] if problem.full else []
    return ["--graph", "grid", *files, *tables, *problem.options], files, gold


def _array(path: Path, values: list) -> None:
    """Writes nested lists as NumPy does: whole numbers as bytes, others as floats of 64 bits."""
    shape, flat = [], values
    while isinstance(flat, list):
        shape.append(len(flat))
        flat = flat[0]
    whole = isinstance(flat, int)
    for _ in shape[1:]:
        values = [x for part in values for x in part]
    kind = "|u1" if whole else "<f8"
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    body = bytes(values) if whole else struct.pack(f"<{len(values)}d", *values)
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + body)
