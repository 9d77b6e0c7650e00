"""Rows about training: the time of a pass, the time to a good model, memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from harness.bench import TO_THE_OPTIMUM, Bench, crfkit_result, crfsuite_result
from harness.crfkit import Training
from harness.measure import Contestant, Row, Sample
from harness.process import CommandFailed

SECONDS_PER_PASS = "seconds_per_pass"
WALL = "wall_seconds"


def crfsuite_passes(bench: Bench, attributes: Path) -> Sample:
    """Only iterations whose line search evaluated once: then the time is one pass and CRFsuite's own vector work."""
    answer, _ = bench.crfsuite_train(attributes, bench.work / "pass.model", c2=1.0, iterations=bench.iterations)
    single = [each["seconds"] for each in answer["iterations"] if each["evaluations"] == 1]
    return {SECONDS_PER_PASS: single, "features": answer["features"]}


TRIALS = re.compile(r"Line search trials: (\d+)")


def compliant_passes(bench: Bench, attributes: Path) -> Sample:
    """It has no clock of its own: a long run minus a short one, divided by the evaluations between them."""

    def cost(iterations: int) -> tuple[float, int]:
        finished = bench.compliant_train(attributes, bench.work / "pass.model", c2=1.0, iterations=iterations)
        return finished.wall_seconds, sum(map(int, TRIALS.findall(finished.stdout)))

    (short, few), (long, many) = cost(1), cost(bench.iterations)
    if many <= few or long <= short:
        raise CommandFailed("crfsuite-compliant-rs learn: more iterations took no longer")
    return {SECONDS_PER_PASS: (long - short) / (many - few)}


def crfkit_passes(
    bench: Bench, attributes: Path, *, compute: str = "f64", threads: int = 1, simd: str | None = None
) -> Sample:
    # crfkit's passes are short: twice as many still take less time, and even out the machine's noise.
    options = ("--optimizer", "lbfgs", "--passes", str(2 * bench.iterations), "--compute", compute)
    env = {"CRFKIT_SIMD": simd} if simd else None
    model = bench.work / "pass.model"
    run = bench.crfkit_train_attributes(attributes, model, *options, c2=1.0, threads=threads, env=env)
    return {SECONDS_PER_PASS: run.pass_seconds(), "features": run.stop().get("features")}


COMPLIANT = "crfsuite-compliant-rs"
SINGLE = "crfkit, single precision"


def add_compliant(bench: Bench, contestants: dict[str, Contestant], attributes: Path) -> None:
    if bench.peers.has(COMPLIANT):
        contestants[COMPLIANT] = lambda: compliant_passes(bench, attributes)


def compliant_ratio(bench: Bench, row: Row) -> None:
    if bench.peers.has(COMPLIANT):
        row.ratio(f"{COMPLIANT} / crfkit", (COMPLIANT, SECONDS_PER_PASS), ("crfkit", SECONDS_PER_PASS))


def pass_22(bench: Bench, row: Row) -> None:
    attributes = bench.data.attributes("train")
    contestants: dict[str, Contestant] = {
        "crfsuite": lambda: crfsuite_passes(bench, attributes),
        "crfkit": lambda: crfkit_passes(bench, attributes),
        SINGLE: lambda: crfkit_passes(bench, attributes, compute="f32"),
        "crfkit, 2 threads": lambda: crfkit_passes(bench, attributes, threads=2),
        "crfkit, avx2": lambda: crfkit_passes(bench, attributes, simd="avx2"),
        "crfkit, baseline": lambda: crfkit_passes(bench, attributes, simd="baseline"),
    }
    add_compliant(bench, contestants, attributes)
    row.take_turns(contestants, bench.rounds)
    compliant_ratio(bench, row)
    crfsuite = ("crfsuite", SECONDS_PER_PASS)
    for tool, aim in {"crfkit": 4, SINGLE: 6, "crfkit, avx2": 2, "crfkit, baseline": None}.items():
        row.ratio(f"crfsuite / {tool}", crfsuite, (tool, SECONDS_PER_PASS), at_least=aim)
    one, two = ("crfkit", SECONDS_PER_PASS), ("crfkit, 2 threads", SECONDS_PER_PASS)
    row.ratio("crfkit, 1 thread / 2 threads", one, two, at_least=1.8)


def labels_174(bench: Bench, row: Row) -> None:
    attributes = bench.data.brown_attributes()
    contestants: dict[str, Contestant] = {
        "crfsuite": lambda: crfsuite_passes(bench, attributes),
        "crfkit": lambda: crfkit_passes(bench, attributes),
        SINGLE: lambda: crfkit_passes(bench, attributes, compute="f32"),
    }
    add_compliant(bench, contestants, attributes)
    row.take_turns(contestants, bench.rounds)
    compliant_ratio(bench, row)
    for tool, aim in {"crfkit": 3, SINGLE: 6}.items():
        row.ratio(f"crfsuite / {tool}", ("crfsuite", SECONDS_PER_PASS), (tool, SECONDS_PER_PASS), at_least=aim)


def auto_22(bench: Bench, row: Row) -> None:
    columns, test_columns = bench.data.columns("train"), bench.data.columns("test")
    attributes, test_attributes = (bench.data.attributes(part, padded=True) for part in ("train", "test"))
    model = bench.work / "auto.model"
    exact = ("--optimizer", "lbfgs", "--passes", str(2 * bench.iterations), "--compute", "f64")

    def crfkit(*options: str, threads: int = 1) -> Sample:
        run = bench.crfkit.train(columns, model, "--preset", "chunking", *options, threads=threads)
        result = crfkit_result(run, bench.crfkit.evaluate(model, test_columns)["f1"])
        return {**result, SECONDS_PER_PASS: run.pass_seconds(), "peak_mb": run.finished.peak_mb}

    def crfsuite() -> Sample:
        answer, process = bench.crfsuite_train(attributes, model, c2=0.5)
        return crfsuite_result(answer, process, bench.crfsuite_f1(model, test_attributes))

    auto, both, batch, optimum = "crfkit, auto", "crfkit, auto, 2 threads", "crfkit, lbfgs", "crfkit, optimum"
    contestants: dict[str, Contestant] = {
        auto: crfkit,
        both: lambda: crfkit(threads=2),
        batch: lambda: {SECONDS_PER_PASS: bench.crfkit.train(columns, model, "--preset", "chunking", *exact).pass_seconds()},
        "crfsuite": crfsuite,
    }
    row.take_turns(contestants, bench.rounds)
    row.take_turns({optimum: lambda: crfkit(*TO_THE_OPTIMUM)}, 1)
    row.ratio("crfsuite / crfkit, whole process", ("crfsuite", WALL), (auto, WALL), at_least=45)
    row.ratio("crfsuite / crfkit, 2 threads, whole process", ("crfsuite", WALL), (both, WALL), at_least=65)
    row.ratio("crfsuite without reading / crfkit, whole process", ("crfsuite", "training_seconds"), (auto, WALL))
    row.ratio("crfkit, 1 thread / 2 threads", (auto, WALL), (both, WALL), at_least=1.6)
    row.ratio("a pass of auto, in exact passes", (auto, SECONDS_PER_PASS), (batch, SECONDS_PER_PASS), at_most=2)
    row.claim("peak memory of auto, MB", lambda peak: peak, [(auto, "peak_mb")], at_most=100)
    above_the_optimum(row, auto, optimum, at_most=0.5)
    row.claim("auto: the optimum's F1 minus its", lambda a, b: a - b, [(optimum, "f1"), (auto, "f1")], at_most=0.1)


def above_the_optimum(row: Row, who: str, optimum: str, *, at_most: float | None = None) -> None:
    row.claim(
        f"{who}: objective above the optimum, %",
        lambda reached, least: 100 * (reached / least - 1),
        [(who, "objective"), (optimum, "objective")],
        at_most=at_most,
    )


def all_22(bench: Bench, row: Row) -> None:
    model = bench.work / "all.model"
    columns, test_columns = bench.data.columns("train"), bench.data.columns("test")

    def crfkit(*options: str) -> Sample:
        run = bench.crfkit.train(columns, model, "--preset", "chunking", "--features", "all", *options)
        return crfkit_result(run, bench.crfkit.evaluate(model, test_columns)["f1"])

    auto, close, optimum, wapiti = "crfkit, auto", "crfkit, auto to the optimum", "crfkit, optimum", "wapiti"
    row.take_turns({auto: crfkit}, bench.rounds)
    row.take_turns({close: lambda: crfkit("--tolerance", "1e-6")}, 1)
    slow: dict[str, Contestant] = {optimum: lambda: crfkit(*TO_THE_OPTIMUM)}
    if bench.peers.has("libwapiti"):
        slow[wapiti] = lambda: wapiti_result(bench, columns, test_columns)
    row.take_turns(slow, 1)  # minutes each
    row.claim("crfkit, objective at the optimum", lambda objective: objective, [(optimum, "objective")], at_most=7714.06)
    row.claim("crfkit, seconds of L-BFGS to the optimum", lambda seconds: seconds, [(optimum, WALL)], at_most=15)
    row.claim("crfkit, seconds of auto to the optimum", lambda seconds: seconds, [(close, WALL)], at_most=30)
    above_the_optimum(row, close, optimum, at_most=0.001)
    if bench.peers.has("libwapiti"):
        row.ratio("wapiti / crfkit, auto", (wapiti, WALL), (auto, WALL))
        objectives = [(auto, "objective"), (wapiti, "objective")]
        row.claim("objective of crfkit, auto, minus wapiti's", lambda ours, theirs: ours - theirs, objectives)


def wapiti_result(bench: Bench, columns: Path, test_columns: Path) -> Sample:
    answer, _ = bench.peer("wapiti", "train", columns, test_columns, "--rho2", "1.0")
    kept = {metric: answer[metric] for metric in ("objective", "f1", "features")}
    return {WALL: answer["seconds"], "passes": answer["iterations"], **kept}


def base_np(bench: Bench, row: Row) -> None:
    model = bench.work / "base-np.model"
    attributes, test_attributes = (bench.data.attributes(part, base_np=True) for part in ("train", "test"))
    columns, test_columns = (bench.data.columns(part, base_np=True) for part in ("train", "test"))

    def crfsuite() -> Sample:
        answer, process = bench.crfsuite_train(attributes, model, c2=1.0)
        return crfsuite_result(answer, process, bench.crfsuite_f1(model, test_attributes))

    def crfkit_observed(*options: str) -> Sample:
        run = bench.crfkit_train_attributes(attributes, model, *options, c2=1.0)
        return crfkit_result(run, bench.crfkit.evaluate(model, test_attributes)["f1"])

    def crfkit_all() -> Sample:
        run = bench.crfkit.train(columns, model, "--preset", "chunking", "--features", "all")
        return crfkit_result(run, bench.crfkit.evaluate(model, test_columns)["f1"])

    contestants: dict[str, Contestant] = {
        "crfsuite": crfsuite,
        "crfkit, auto": crfkit_observed,
        "crfkit, lbfgs": lambda: crfkit_observed(*TO_THE_OPTIMUM),
        "crfkit, all features": crfkit_all,
    }
    if bench.peers.has("libwapiti"):
        contestants["wapiti, all features"] = lambda: wapiti_result(bench, columns, test_columns)
    row.take_turns(contestants, bench.rounds)
    for tool in ("crfkit, auto", "crfkit, lbfgs"):
        row.ratio(f"crfsuite / {tool}", ("crfsuite", WALL), (tool, WALL))
        objectives = [(tool, "objective"), ("crfsuite", "objective")]
        row.claim(f"objective of {tool} minus crfsuite's", lambda ours, theirs: ours - theirs, objectives)
    if bench.peers.has("libwapiti"):
        row.ratio("wapiti / crfkit, all features", ("wapiti, all features", WALL), ("crfkit, all features", WALL))


def elastic_net(bench: Bench, row: Row) -> None:
    """L1 and L2 together, c1 = c2 = 0.1: seconds from the attribute file until the objective is near the optimum."""
    attributes, model = bench.data.attributes("train"), bench.work / "elastic-net.model"
    near = 1.005

    def crfkit(*options: str) -> Sample:
        run = bench.crfkit_train_attributes(attributes, model, "--l1", "0.1", *options, c2=0.1)
        stop = run.stop()
        return {WALL: run.finished.wall_seconds, "passes": stop["passes"], "objective": stop["objective"]}

    def crfsuite() -> Sample:
        limit = 1000 if bench.data.sentences is None else bench.iterations
        answer, _ = bench.crfsuite_train(attributes, model, c1=0.1, c2=0.1, iterations=limit)
        least = row.best((optimum, "objective"))
        return until(answer, near * least if least else 0.0)

    auto, optimum = "crfkit, auto", "crfkit, optimum"
    row.take_turns({optimum: lambda: crfkit(*TO_THE_OPTIMUM)}, 1)
    row.take_turns({auto: crfkit}, bench.rounds)
    row.take_turns({"crfsuite": crfsuite}, 1)  # minutes
    row.ratio("crfsuite / crfkit, auto", ("crfsuite", WALL), (auto, WALL), at_least=20)
    above_the_optimum(row, auto, optimum, at_most=0.5)
    above_the_optimum(row, "crfsuite", optimum)


def until(answer: dict, objective: float) -> Sample:
    """What CRFsuite had spent when it first reached an objective, or at its end if it never did."""
    spent, passes = answer["reading_seconds"], 0
    for each in answer["iterations"]:
        spent, passes = spent + each["seconds"], passes + each["evaluations"]
        if each["objective"] <= objective:
            break
    return {WALL: spent, "passes": passes, "objective": each["objective"]}


def brown(bench: Bench, row: Row) -> None:
    """The default command on 32,623 sentences with their parts of speech, to its own stop."""
    model = bench.work / "brown.model"

    def crfkit(stripped: bool, threads: int) -> Sample:
        train, test = (bench.data.brown(part, stripped=stripped) for part in ("train", "test"))
        run = bench.crfkit.train(train, model, "--preset", "pos", threads=threads)
        whole = crfkit_result(run, 0.0)
        kept = {name: whole[name] for name in whole if name != "f1"}
        return {**kept, "accuracy": bench.crfkit.evaluate(model, test)["accuracy"], "peak_mb": run.finished.peak_mb}

    few, one, many = "tags without suffixes", "tags without suffixes, 1 thread", "all tags"
    row.take_turns(
        {few: lambda: crfkit(True, 2), one: lambda: crfkit(True, 1), many: lambda: crfkit(False, 2)},
        1,  # minutes each
    )
    row.claim("tags without suffixes, 2 threads, s", lambda seconds: seconds, [(few, WALL)], at_most=60)
    row.claim("tags without suffixes, accuracy, %", lambda accuracy: accuracy, [(few, "accuracy")], at_least=97.3)
    row.claim("all tags, 2 threads, s", lambda seconds: seconds, [(many, WALL)], at_most=120)
    row.ratio("1 thread / 2 threads", (one, WALL), (few, WALL), at_least=1.8)


def second_order(bench: Bench, row: Row) -> None:
    """Base NP by chains of first and of second order: F1, and the seconds of an L-BFGS pass."""
    model = bench.work / "second-order.model"
    columns, test_columns = (bench.data.columns(part, base_np=True) for part in ("train", "test"))
    passes = ("--optimizer", "lbfgs", "--passes", "20")

    def crfkit(*options: str, preset: str = "chunking") -> Sample:
        run = bench.crfkit.train(columns, model, "--preset", preset, *options)
        return crfkit_result(run, bench.crfkit.evaluate(model, test_columns)["f1"])

    def pass_of(order: str) -> Sample:
        run = bench.crfkit.train(columns, model, "--preset", "chunking", "--order", order, *passes)
        return {SECONDS_PER_PASS: run.pass_seconds()}

    row.take_turns(
        {
            "order 1": lambda: crfkit("--order", "1"),
            "order 2": lambda: crfkit("--order", "2"),
            "order 2, all pairs": lambda: crfkit("--order", "2", "--transitions", "all"),
            "order 2, observations of pairs": lambda: crfkit("--order", "2", preset="chunking-pairs"),
            "order 1, a pass": lambda: pass_of("1"),
            "order 2, a pass": lambda: pass_of("2"),
        },
        bench.rounds,
    )
    row.ratio("order 2 / order 1", ("order 2", WALL), ("order 1", WALL))
    row.ratio("a pass of order 2 / order 1", ("order 2, a pass", SECONDS_PER_PASS), ("order 1, a pass", SECONDS_PER_PASS))
    # Sha and Pereira (2003) report 94.2 to 94.4.
    row.claim("F1 with observations of pairs", lambda f1: f1, [("order 2, observations of pairs", "f1")], at_least=94.2)
    row.claim("F1 of order 2 minus order 1", lambda two, one: two - one, [("order 2", "f1"), ("order 1", "f1")])


def letters_row(bench: Bench, row: Row) -> None:
    """OCR-like letters: black and white pixels, of which most are 0. As attributes, CRFsuite takes them too."""
    attributes = bench.data.letters("train", "attributes")
    as_vectors_and_attributes(bench, row, bench.data.letters, {"crfsuite, a pass": lambda: crfsuite_passes(bench, attributes)})
    ours = ("vectors, a pass", SECONDS_PER_PASS)
    row.ratio("crfsuite / vectors, a pass", ("crfsuite, a pass", SECONDS_PER_PASS), ours)


def embeddings_row(bench: Bench, row: Row) -> None:
    """Embeddings: long vectors without zeros."""
    as_vectors_and_attributes(bench, row, bench.data.embeddings, {})


def as_vectors_and_attributes(bench: Bench, row: Row, data: Callable[[str, str], Path], others: dict[str, Contestant]) -> None:
    """The same numbers as vectors and as attributes."""
    model = bench.work / f"{row.name}.model"
    attributes, test_attributes = (data(part, "attributes") for part in ("train", "test"))
    columns, test_columns = (data(part, "txt") for part in ("train", "test"))
    vectors, test_vectors = (data(part, "npy") for part in ("train", "test"))
    passes = ("--optimizer", "lbfgs", "--passes", str(2 * bench.iterations))
    # The numbers alone, without templates of the text; as they are, so that both forms are the same model.
    same = ("--features", "all", "--scaling", "none")
    dense = ("--vectors", str(vectors), "--template", str(bench.data.label_pairs()), *same)

    def by_vectors(*options: str) -> Sample:
        run = bench.crfkit.train(columns, model, *dense, *options)
        return accurate(run, bench.crfkit.evaluate(model, test_columns, "--vectors", test_vectors))

    def by_attributes(*options: str) -> Sample:
        run = bench.crfkit_train_attributes(attributes, model, *same, *options, c2=0.5)
        return accurate(run, bench.crfkit.evaluate(model, test_attributes))

    def accurate(run: Training, scores: dict) -> Sample:
        whole = crfkit_result(run, 0.0)
        return {"accuracy": scores["accuracy"], **{name: whole[name] for name in whole if name != "f1"}}

    def a_pass(run: Training) -> Sample:
        return {SECONDS_PER_PASS: run.pass_seconds(), "features": run.stop().get("features")}

    row.take_turns(
        {
            "vectors": by_vectors,
            "attributes": by_attributes,
            "vectors, a pass": lambda: a_pass(bench.crfkit.train(columns, model, *dense, *passes)),
            "attributes, a pass": lambda: a_pass(bench.crfkit_train_attributes(attributes, model, *same, *passes, c2=0.5)),
            **others,
        },
        bench.rounds,
    )
    ours = ("vectors, a pass", SECONDS_PER_PASS)
    row.ratio("attributes / vectors, a pass", ("attributes, a pass", SECONDS_PER_PASS), ours)
    row.claim(
        "accuracy of vectors minus that of attributes",
        lambda one, other: one - other,
        [("vectors", "accuracy"), ("attributes", "accuracy")],
    )


def memory(bench: Bench, row: Row) -> None:
    attributes = bench.data.attributes("train")
    model = bench.work / "memory.model"
    iterations = 10  # L-BFGS has then filled its six pairs of vectors

    def crfsuite() -> Sample:
        return {"peak_mb": bench.crfsuite_train(attributes, model, c2=1.0, iterations=iterations)[1].peak_mb}

    def interpreter() -> Sample:
        return {"peak_mb": bench.peer("crfsuite", "idle")[1].peak_mb}

    def crfkit() -> Sample:
        options = ("--optimizer", "lbfgs", "--passes", str(2 * iterations))
        run = bench.crfkit_train_attributes(attributes, model, *options, c2=1.0)
        return {"peak_mb": run.finished.peak_mb}

    python = "python alone"
    row.take_turns({"crfsuite": crfsuite, python: interpreter, "crfkit": crfkit}, bench.rounds)
    peaks = [("crfkit", "peak_mb"), ("crfsuite", "peak_mb"), (python, "peak_mb")]
    row.claim("crfkit / (crfsuite - python alone)", lambda ours, whole, idle: ours / (whole - idle), peaks, at_most=1)
