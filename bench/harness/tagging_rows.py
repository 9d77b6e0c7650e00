"""Rows about using a model: tagging speed and the time to load."""

from __future__ import annotations

from harness.bench import Bench
from harness.data import count_tokens
from harness.measure import Contestant, Row, Sample
from harness.process import CommandFailed

COPIES = 20  # of the test set: the time of one copy, start-up included, is subtracted
ATTRIBUTE_COPIES = 5  # the same for attribute files, which are large
LOADS = 20  # loading takes milliseconds, so the best of few says little
SPEED = "tokens_per_second"

# The weights of the peer's models do not matter here: Viterbi costs the same whatever they are, and ten iterations of
# L-BFGS leave none of them at zero, so the model has its full size.
FEW_ITERATIONS = 10


def tag(bench: Bench, row: Row) -> None:
    once, often = bench.data.repeated_test(1), bench.data.repeated_test(COPIES)
    further_tokens = count_tokens(once) * (COPIES - 1)
    model, peer_model = bench.work / "tag.crfkit", bench.work / "tag.crfsuite"
    columns, attributes = bench.data.columns("train"), bench.data.attributes("train", padded=True)

    def prepare() -> Sample:
        bench.crfkit.train(columns, model, "--preset", "chunking")
        return {}

    def crfkit(threads: int = 1) -> Sample:
        short, long = (bench.crfkit.tag(model, file, threads=threads).wall_seconds for file in (once, often))
        return {SPEED: speed("crfkit tag", further_tokens, short, long)}

    def compliant() -> Sample:
        files = [bench.data.repeated_test_attributes(times) for times in (1, ATTRIBUTE_COPIES)]
        short, long = (bench.compliant_tag(peer_model, file).wall_seconds for file in files)
        tokens = count_tokens(once) * (ATTRIBUTE_COPIES - 1)
        return {SPEED: speed("crfsuite-compliant-rs tag", tokens, short, long)}

    def crfsuite(source: str) -> Sample:
        return bench.peer("crfsuite", "tag", peer_model, once, "--source", source)[0]

    ours, both = "crfkit, column text", "crfkit, column text, 2 threads"
    peers: dict[str, Contestant] = {
        "crfsuite, column text": lambda: crfsuite("columns"),
        "crfsuite, lists of attributes": lambda: crfsuite("lists"),
        "crfsuite, prepared items": lambda: crfsuite("items"),
    }
    if bench.peers.has("chaine"):
        peers["chaine, dictionaries"] = lambda: bench.peer("chaine", "tag", peer_model, once)[0]
    if bench.peers.has("crfsuite-compliant-rs"):
        peers["crfsuite-compliant-rs, attribute lines"] = compliant
    if bench.peers.has("crfs"):
        peers["crfs, prepared attributes"] = lambda: bench.crfs_tag(peer_model, bench.data.attributes("test", padded=True))
    bench.crfsuite_train(attributes, peer_model, c2=0.5, iterations=FEW_ITERATIONS)
    row.take_turns({ours: prepare}, 1)
    row.take_turns({ours: crfkit, both: lambda: crfkit(threads=2), **peers}, bench.rounds)
    for peer in peers:
        row.ratio(f"crfkit / {peer}", (ours, SPEED), (peer, SPEED), at_least=8 if "lists" in peer else None)
    row.ratio("crfkit, 2 threads / 1 thread", (both, SPEED), (ours, SPEED), at_least=1.8)


def speed(what: str, further_tokens: int, short: float, long: float) -> float:
    """Tokens per second of a process that took `long` seconds where one copy of its input took it `short`."""
    if long <= short:
        raise CommandFailed(f"{what}: several copies of the input took no longer than one")
    return further_tokens / (long - short)


def load(bench: Bench, row: Row) -> None:
    attributes, one_token = bench.data.attributes("train"), bench.data.one_token()
    model, peer_model = bench.work / "load.crfkit", bench.work / "load.crfsuite"

    def prepare() -> Sample:
        options = ("--optimizer", "lbfgs", "--passes", str(2 * FEW_ITERATIONS))
        return {"features": bench.crfkit_train_attributes(attributes, model, *options, c2=1.0).stop().get("features")}

    def crfkit() -> Sample:
        # One token instead of none: an empty file is an error, and a token costs microseconds.
        tagging = min(bench.crfkit.tag(model, one_token).wall_seconds for _ in range(LOADS))
        starting = min(bench.crfkit.version().wall_seconds for _ in range(LOADS))
        return {"load_seconds": max(tagging - starting, 0.0)}

    def crfsuite() -> Sample:
        return bench.peer("crfsuite", "load", peer_model, "--repeat", str(LOADS))[0]

    answer, _ = bench.crfsuite_train(attributes, peer_model, c2=1.0, iterations=FEW_ITERATIONS)
    row.take_turns({"crfsuite": lambda: {"features": answer["features"]}, "crfkit": prepare}, 1)
    row.take_turns({"crfkit": crfkit, "crfsuite": crfsuite}, bench.rounds)
    row.claim("crfkit loads a model, s", lambda seconds: seconds, [("crfkit", "load_seconds")], at_most=0.010)
