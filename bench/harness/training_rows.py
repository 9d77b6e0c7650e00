"""Rows about training: the time of a pass, the time to a good model, memory."""

from __future__ import annotations

from pathlib import Path

from harness.bench import TO_THE_OPTIMUM, Bench, crfkit_result, crfsuite_result
from harness.measure import Contestant, Row, Sample

SECONDS_PER_PASS = "seconds_per_pass"
WALL = "wall_seconds"


def crfsuite_passes(bench: Bench, attributes: Path) -> Sample:
    """Only iterations whose line search evaluated once: then the time is one pass and CRFsuite's own vector work."""
    answer, _ = bench.crfsuite_train(attributes, bench.work / "pass.model", c2=1.0, iterations=bench.iterations)
    single = [each["seconds"] for each in answer["iterations"] if each["evaluations"] == 1]
    return {SECONDS_PER_PASS: single, "features": answer["features"]}


def crfkit_passes(bench: Bench, attributes: Path, *, threads: int = 1, simd: str | None = None) -> Sample:
    # crfkit's passes are short: twice as many still take less time, and even out the machine's noise.
    options = ("--optimizer", "lbfgs", "--passes", str(2 * bench.iterations))
    env = {"CRFKIT_SIMD": simd} if simd else None
    model = bench.work / "pass.model"
    run = bench.crfkit_train_attributes(attributes, model, *options, c2=1.0, threads=threads, env=env)
    return {SECONDS_PER_PASS: run.pass_seconds(), "features": run.stop().get("features")}


def pass_22(bench: Bench, row: Row) -> None:
    attributes = bench.data.attributes("train")
    contestants: dict[str, Contestant] = {
        "crfsuite": lambda: crfsuite_passes(bench, attributes),
        "crfkit": lambda: crfkit_passes(bench, attributes),
        "crfkit, 2 threads": lambda: crfkit_passes(bench, attributes, threads=2),
        "crfkit, avx2": lambda: crfkit_passes(bench, attributes, simd="avx2"),
        "crfkit, baseline": lambda: crfkit_passes(bench, attributes, simd="baseline"),
    }
    row.take_turns(contestants, bench.rounds)
    crfsuite = ("crfsuite", SECONDS_PER_PASS)
    for tool, aim in {"crfkit": 4, "crfkit, avx2": 2, "crfkit, baseline": None}.items():
        row.ratio(f"crfsuite / {tool}", crfsuite, (tool, SECONDS_PER_PASS), at_least=aim)
    one, two = ("crfkit", SECONDS_PER_PASS), ("crfkit, 2 threads", SECONDS_PER_PASS)
    row.ratio("crfkit, 1 thread / 2 threads", one, two, at_least=1.8)


def labels_174(bench: Bench, row: Row) -> None:
    attributes = bench.data.brown_attributes()
    contestants: dict[str, Contestant] = {
        "crfsuite": lambda: crfsuite_passes(bench, attributes),
        "crfkit": lambda: crfkit_passes(bench, attributes),
    }
    row.take_turns(contestants, bench.rounds)
    row.ratio("crfsuite / crfkit", ("crfsuite", SECONDS_PER_PASS), ("crfkit", SECONDS_PER_PASS), at_least=3)


def auto_22(bench: Bench, row: Row) -> None:
    columns, test_columns = bench.data.columns("train"), bench.data.columns("test")
    attributes, test_attributes = (bench.data.attributes(part, padded=True) for part in ("train", "test"))
    model = bench.work / "auto.model"

    def crfkit(*options: str) -> Sample:
        run = bench.crfkit.train(columns, model, "--preset", "chunking", *options)
        return crfkit_result(run, bench.crfkit.evaluate(model, test_columns)["f1"])

    def crfsuite() -> Sample:
        answer, process = bench.crfsuite_train(attributes, model, c2=0.5)
        return crfsuite_result(answer, process, bench.crfsuite_f1(model, test_attributes))

    auto, near, optimum = "crfkit, auto", "crfkit, auto, --tolerance 0.01", "crfkit, optimum"
    contestants = {auto: crfkit, near: lambda: crfkit("--tolerance", "0.01"), "crfsuite": crfsuite}
    row.take_turns(contestants, bench.rounds)
    row.take_turns({optimum: lambda: crfkit(*TO_THE_OPTIMUM)}, 1)
    row.ratio("crfsuite / crfkit, whole process", ("crfsuite", WALL), (auto, WALL), at_least=25)
    row.ratio("crfsuite without reading / crfkit, whole process", ("crfsuite", "training_seconds"), (auto, WALL))
    row.ratio("crfsuite / crfkit, --tolerance 0.01, whole process", ("crfsuite", WALL), (near, WALL), at_least=25)
    for name, who in (("auto", auto), ("auto, --tolerance 0.01", near)):
        row.claim(
            f"{name}: objective above the optimum, %",
            lambda reached, least: 100 * (reached / least - 1),
            [(who, "objective"), (optimum, "objective")],
            at_most=1,
        )
        row.claim(f"{name}: the optimum's F1 minus its", lambda a, b: a - b, [(optimum, "f1"), (who, "f1")], at_most=0.1)


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

    def wapiti() -> Sample:
        answer, _ = bench.peer("wapiti", "train", columns, test_columns, "--rho2", "1.0")
        kept = {metric: answer[metric] for metric in ("objective", "f1", "features")}
        return {WALL: answer["seconds"], "passes": answer["iterations"], **kept}

    contestants: dict[str, Contestant] = {
        "crfsuite": crfsuite,
        "crfkit, auto": crfkit_observed,
        "crfkit, lbfgs": lambda: crfkit_observed(*TO_THE_OPTIMUM),
        "crfkit, all features": crfkit_all,
    }
    if bench.peers.has("libwapiti"):
        contestants["wapiti, all features"] = wapiti
    row.take_turns(contestants, bench.rounds)
    for tool in ("crfkit, auto", "crfkit, lbfgs"):
        row.ratio(f"crfsuite / {tool}", ("crfsuite", WALL), (tool, WALL))
        objectives = [(tool, "objective"), ("crfsuite", "objective")]
        row.claim(f"objective of {tool} minus crfsuite's", lambda ours, theirs: ours - theirs, objectives)
    if bench.peers.has("libwapiti"):
        row.ratio("wapiti / crfkit, all features", ("wapiti, all features", WALL), ("crfkit, all features", WALL))


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
