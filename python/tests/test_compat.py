"""The replacements for sklearn-crfsuite and python-crfsuite."""

import math
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import crfkit
from crfkit.compat import pycrfsuite, sklearn_crfsuite

X = [
    [{"word": "Ada", "upper": True}, {"word": "sings", "upper": False}],
    [{"word": "dogs", "upper": False}, {"word": "bark", "upper": False}, {"word": "loudly", "upper": False}],
]
Y = [["NAME", "VERB"], ["NOUN", "VERB", "ADV"]]


@pytest.fixture
def model_file(tmp_path):
    trainer = pycrfsuite.Trainer(params={"c2": 0.1}, verbose=False)
    for x, y in zip(X, Y):
        trainer.append(x, y)
    path = str(tmp_path / "model")
    trainer.train(path)
    return path


def test_tagger(model_file):
    tagger = pycrfsuite.Tagger()
    with tagger.open(model_file):
        assert sorted(tagger.labels()) == ["ADV", "NAME", "NOUN", "VERB"]
        assert tagger.tag(X[0]) == Y[0] and tagger.tag(pycrfsuite.ItemSequence(X[1])) == Y[1]
        tagger.set(X[0])
        assert tagger.tag() == Y[0]
        total = sum(tagger.probability([a, b]) for a in tagger.labels() for b in tagger.labels())
        assert total == pytest.approx(1.0)
        first = sum(tagger.probability(["NAME", b]) for b in tagger.labels())
        assert tagger.marginal("NAME", 0) == pytest.approx(first)
        info = tagger.info()
        assert ("NAME", "VERB") in info.transitions and ("word:Ada", "NAME") in info.state_features
        with pytest.raises(ValueError):
            tagger.marginal("none", 0)
        with pytest.raises(ValueError):
            tagger.marginal("NAME", 2)
    for closed in (tagger.labels, tagger.tag):
        with pytest.raises(ValueError):
            closed()
    for closed in (tagger.info, tagger.dump):
        with pytest.raises(RuntimeError):
            closed()


def test_model_files(model_file, tmp_path):
    tagger = pycrfsuite.Tagger()
    with pytest.raises(OSError):
        tagger.open(str(tmp_path / "none"))
    (tmp_path / "bad").write_bytes(b"lCRF")
    with pytest.raises(ValueError):
        tagger.open(str(tmp_path / "bad"))
    with open(model_file, "rb") as file:
        tagger.open_inmemory(file.read())
    assert tagger.tag(X[0]) == Y[0]
    tagger.dump(str(tmp_path / "dump"))
    dump = (tmp_path / "dump").read_text()
    assert "(1) NAME --> VERB" in dump and "(0) word:Ada --> NAME" in dump and "LABELS = {" in dump


def test_the_penalty_is_that_of_crfsuite(model_file):
    """At the optimum the gradient of the loss is that of c2·‖w‖², so the weights follow from the marginals: E[f] − f + 2·c2·w = 0."""
    crf = sklearn_crfsuite.CRF(c2=0.1, epsilon=1e-9, delta=1e-12).fit([[["a"]], [["b"]]], [["A"], ["B"]])
    p = crf.predict_marginals_single([["a"]])[0]["A"]
    assert crf.state_features_[("a", "A")] == pytest.approx((1 - p) / 0.2, rel=1e-4)
    assert math.isclose(sum(crf.predict_marginals_single([["a"]])[0].values()), 1.0)
    # Also where features have values: E[f] − f is then multiplied by the value.
    crf = sklearn_crfsuite.CRF(c2=0.1, epsilon=1e-9, delta=1e-12).fit([[{"a": 0.1}], [{"b": 3.0}]], [["A"], ["B"]])
    for name, label, value in [("a", "A", 0.1), ("b", "B", 3.0)]:
        p = crf.predict_marginals_single([{name: value}])[0][label]
        assert crf.state_features_[(name, label)] == pytest.approx(value * (1 - p) / 0.2, rel=1e-4)


def test_item_sequence():
    items = pycrfsuite.ItemSequence([{"a": "b", "c": 2, "d": {"e": True, "f": ["g"]}}, ["h", b"i"]])
    assert items.items() == [{"a:b": 1.0, "c": 2.0, "d:e": 1.0, "d:f:g": 1.0}, {"h": 1.0, "i": 1.0}]
    assert len(items) == 2 and "size 2" in repr(items)


def test_trainer_parameters():
    trainer = pycrfsuite.Trainer("l2sgd", {"c2": 3, "feature.possible_states": True}, verbose=False)
    assert trainer.get("c2") == 3.0 and trainer.get("feature.possible_states") is True
    assert "calibration.eta" in trainer.params() and trainer.help("c2").startswith("Coefficient")
    trainer.select("lbfgs")
    assert trainer.get_params()["c1"] == 0.0
    for name, value in [("none", 1), ("c2", "abc"), ("c2", None)]:
        with pytest.raises(ValueError, match=name):
            trainer.set(name, value)
    with pytest.raises(ValueError, match="algorithm"):
        trainer.select("magic")
    for name, known in [("pa", "error_sensitive"), ("arow", "gamma"), ("AP", "epsilon")]:
        trainer.select(name)
        assert known in trainer.params()


def test_messages_and_subclasses(tmp_path):
    class Mine(pycrfsuite.BaseTrainer):
        def __init__(self):  # on purpose without super().__init__
            self.messages = []

        def message(self, message):
            self.messages.append(message)

    trainer = Mine()
    trainer.append(X[0], Y[0])
    trainer.train(str(tmp_path / "model"))
    assert "type: CRF1d\n" in trainer.messages and len(trainer.messages) > 3

    class Failing(Mine):
        def message(self, message):
            if "Loss" in message:
                raise KeyError("mine")

    failing = Failing()
    failing.append(X[0], Y[0])
    with pytest.raises(KeyError, match="mine"):
        failing.train(str(tmp_path / "other"))
    with pytest.raises(ValueError, match="differ"):
        trainer.append(X[0], Y[1])


def test_files_are_those_of_crfsuite(model_file, tmp_path):
    import stat

    with open(model_file, "rb") as file:
        data = file.read()
    assert data.startswith(b"lCRF")
    found = os.stat(model_file)
    assert not stat.S_IMODE(found.st_mode) & 0o022 and found.st_nlink == 1
    # Labels have the order in which training met them.
    tagger = pycrfsuite.Tagger()
    tagger.open(model_file)
    assert tagger.labels() == ["NAME", "VERB", "NOUN", "ADV"]
    model = crfkit.Model.from_bytes(data)
    assert model.to_crfsuite() == data
    back = crfkit.Model.from_bytes(model.to_bytes())
    assert back.labels == model.labels and back.tagger().tag(X[1]).labels == Y[1]
    assert model.to_crfsuite(sorted(model.labels)) != data
    with pytest.raises(ValueError, match="order of labels"):
        model.to_crfsuite(["NAME"])
    for cut in range(0, len(data), 7):
        with pytest.raises(ValueError):
            tagger.open_inmemory(data[:cut])
    with pytest.raises(ValueError, match="templates"):
        crfkit.ChainCRF(template="default").fit([[["Ada"], ["sings"]]], [["NAME", "O"]]).model_.to_crfsuite()


def test_no_data(tmp_path):
    path = str(tmp_path / "model")
    pycrfsuite.Trainer(verbose=False).train(path)
    with open(path, "rb") as file:
        assert file.read(4) == b"lCRF"
    with pytest.raises(ValueError, match="no data"):
        pycrfsuite.Tagger().open(path)


def test_the_log_and_its_reader(capsys, tmp_path):
    trainer = pycrfsuite.Trainer("l2sgd", {"max_iterations": 4})
    for x, y in zip(X * 3, Y * 3):
        trainer.append(x, y)
    trainer.append(X[0], Y[0], group=1)
    trainer.train(str(tmp_path / "model"), holdout=1)
    printed = capsys.readouterr().out
    log = trainer.logparser
    assert log.featgen_percent == 100 and log.featgen_num_features == 12
    assert [iteration["num"] for iteration in log.iterations] == [1, 2, 3, 4]
    assert all(iteration["loss"] > 0 and "time" in iteration for iteration in log.iterations)
    assert [event for event, *_ in log.events if event != "featgen_progress"] == (
        ["start", "featgen_end", "prepared"] + ["iteration"] * 4 + ["optimization_end", "end"]
    )
    last = log.last_iteration
    assert last["scores"]["NAME"].ref == 1 and last["item_accuracy"] == 1
    assert "".join(log.log) == printed and "***** Epoch #4 *****" in printed
    assert "Holdout group: 2" in printed and "SGD terminated with the maximum number of iterations" in printed


def test_stopping_rules(tmp_path):
    def iterations(algorithm, **params):
        trainer = pycrfsuite.Trainer(algorithm, params, verbose=False)
        for x, y in zip(X * 3, Y * 3):
            trainer.append(x, y)
        trainer.train("")
        return len(trainer.logparser.iterations)

    assert iterations("pa", epsilon=0) == 100 and iterations("pa", epsilon=1e9) == 1
    assert iterations("l2sgd", period=2, delta=1e9) == 3
    assert iterations("arow", max_iterations=7) == 7


def test_iterations_are_those_of_crfsuite():
    """The first is the first step, none is counted before it, and 0 is no limit."""

    def losses(**params):
        trainer = pycrfsuite.Trainer("lbfgs", params, verbose=False)
        for x, y in zip(X * 3, Y * 3):
            trainer.append(x, y)
        trainer.train("")
        return [iteration["loss"] for iteration in trainer.logparser.iterations], "".join(trainer.logparser.log)

    whole, log = losses()
    assert "num_memories: 40" in log and "L-BFGS resulted in convergence" in log
    start = sum(map(len, Y * 3)) * math.log(len({label for labels in Y for label in labels}))
    assert whole[0] < start - 1e-3 and len(whole) > 5
    for limit in (1, 3):
        some, log = losses(max_iterations=limit)
        assert some == whole[:limit] and "terminated with the maximum number of iterations" in log
    assert losses(max_iterations=0)[0] == whole
    assert losses(c1=1e6)[0] == []
    some, log = losses(period=3, delta=1e9)
    assert some == whole[:3] and "terminated with the stopping criteria" in log
    assert losses(period=0, delta=1e9)[0] == whole


@pytest.mark.parametrize(
    "algorithm, params",
    [
        ("lbfgs", {"num_memories": 0}),
        ("lbfgs", {"epsilon": -1}),
        ("lbfgs", {"linesearch": "nope"}),
        ("lbfgs", {"c1": -1}),
        ("pa", {"c": 0}),
        ("arow", {"gamma": -1}),
        ("arow", {"variance": 0}),
    ],
)
def test_values_that_no_training_could_use(algorithm, params):
    trainer = pycrfsuite.Trainer(algorithm, params, verbose=False)
    trainer.append(X[0], Y[0])
    with pytest.raises(ValueError, match=f"parameter {next(iter(params))} is"):
        trainer.train("")


def test_install(tmp_path):
    import os
    import subprocess
    import sys

    def run(*command):
        environment = os.environ | {"PYTHONPATH": str(tmp_path)}
        return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)

    for _ in range(2):
        assert run("-m", "crfkit.compat", "install", str(tmp_path)).returncode == 0
    program = "import pycrfsuite, sklearn_crfsuite, pycrfsuite._logparser; from sklearn_crfsuite import metrics, CRF"
    done = run("-c", program + "; print(pycrfsuite.__file__, pycrfsuite.Tagger, pycrfsuite._logparser.TrainLogParser)")
    assert str(tmp_path) in done.stdout, done.stderr
    other = tmp_path / "other"
    (other / "pycrfsuite").mkdir(parents=True)
    refused = run("-m", "crfkit.compat", "install", str(other))
    assert refused.returncode == 1 and "is there already" in refused.stderr


def test_holdout(tmp_path):
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append(X[0], Y[0], group=0)
    trainer.append(X[1], Y[1], group=1)
    trainer.train(str(tmp_path / "model"), holdout=1)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    assert sorted(tagger.labels()) == ["NAME", "VERB"]


@pytest.mark.parametrize("algorithm", [None, "lbfgs", "l2sgd", "ap", "pa", "arow"])
def test_crf(algorithm, tmp_path):
    crf = sklearn_crfsuite.CRF(algorithm, model_filename=str(tmp_path / "model"))
    assert crf.classes_ is None and crf.tagger_ is None and crf.state_features_ is None
    crf.fit(X, Y)
    assert [list(labels) for labels in crf.predict(X)] == Y and crf.score(X, Y) == 1.0
    assert crf.predict([X[0], X[0]]).shape == (2, 2)
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict_single(X[1]) == Y[1]
    assert sklearn_crfsuite.CRF(model_filename=str(tmp_path / "model")).predict_single(X[1]) == Y[1]
    assert set(crf.classes_) == {"NAME", "VERB", "NOUN", "ADV"}
    assert crf.num_attributes_ == len(crf.attributes_) and crf.size_ > 0
    assert ("word:Ada", "NAME") in crf.state_features_ and crf.transition_features_
    marginals = crf.predict_marginals(X)
    assert set(marginals[0][0]) == set(crf.classes_)


def test_all_possible_transitions():
    def pairs(value):
        crf = sklearn_crfsuite.CRF(c2=0.1, all_possible_transitions=value).fit(X, Y)
        return len(crf.transition_features_)

    assert pairs(False) == 3 and pairs(True) > 3


def test_crf_refuses():
    for params, message in [({"algorithm": "ap", "c2": 1.0}, "c2"), ({"c2": "abc"}, "c2"), ({"c2": -1}, "c2 is -1")]:
        with pytest.raises(ValueError, match=message):
            sklearn_crfsuite.CRF(**params).fit(X, Y)
    with pytest.raises(ValueError, match="both X_dev and y_dev"):
        sklearn_crfsuite.CRF().fit(X, Y, X)
    with pytest.raises(ValueError, match="call fit first"):
        sklearn_crfsuite.CRF().predict(X)
    for params, message in [({"pa_type": 3}, "0, 1 or 2"), ({"c": -1}, "c is -1")]:
        with pytest.raises(ValueError, match=message):
            sklearn_crfsuite.CRF("pa", **params).fit(X, Y)
    with pytest.raises(ValueError, match="calibration.rate"):
        sklearn_crfsuite.CRF("l2sgd", calibration_rate=1).fit(X, Y)
    with pytest.raises(TypeError, match=r"X\[0\]\[0\]\['a'\]"):
        sklearn_crfsuite.CRF().fit([[{"a": None}]], [["A"]])


def test_metrics_and_scorers():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import KFold, RandomizedSearchCV

    from crfkit.compat.sklearn_crfsuite import metrics, scorers

    y, found = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    assert metrics.flat_accuracy_score(y, found) == pytest.approx(2 / 3)
    assert metrics.sequence_accuracy_score(y, found) == 0.5
    assert metrics.flat_f1_score(y, found, average="macro", labels=["A"]) == pytest.approx(0.8)
    assert metrics.flat_precision_score(y, found, pos_label="A") == pytest.approx(2 / 3)
    assert metrics.flat_recall_score(y, found, pos_label="A") == 1.0
    assert metrics.flat_fbeta_score(y, found, beta=1, pos_label="A") == pytest.approx(0.8)
    assert "accuracy" in metrics.flat_classification_report(y, found)
    search = RandomizedSearchCV(
        sklearn_crfsuite.CRF(), {"c1": [0.1], "c2": [np.float64(0.1)]}, n_iter=1, cv=KFold(2), scoring=scorers.flat_accuracy
    )
    assert search.fit(X * 2, Y * 2).best_score_ > 0


def test_subclasses_of_the_estimator_have_parameters_of_their_own():
    sklearn = pytest.importorskip("sklearn.base")

    class Hides(sklearn_crfsuite.CRF):
        def __init__(self, c2=0.5, words=3):
            super().__init__(algorithm="lbfgs", c1=0.25, c2=c2, max_iterations=20)
            self.words = words

    class Passes(sklearn_crfsuite.CRF):
        def __init__(self, words=3, **given):
            super().__init__(**given)
            self.words = words

    hides = Hides(words=5)
    assert hides.get_params() == {"c2": 0.5, "words": 5} and repr(hides) == "Hides(words=5)"
    plain = sklearn_crfsuite.CRF(c1=0.25, c2=0.5, max_iterations=20).fit(X, Y)
    assert sklearn.clone(hides).fit(X, Y).state_features_ == plain.state_features_
    passes = sklearn.clone(Passes(words=5, c1=0.25, c2=0.5, max_iterations=20))
    assert passes.words == 5 and passes.get_params()["c1"] == 0.25 and "given" not in passes.get_params()
    assert passes.fit(X, Y).state_features_ == plain.state_features_
    assert repr(Passes(c2=0.5)) == "Passes(c2=0.5)"


def test_ctrl_c_ends_calibration():
    """The learning rate of l2sgd is found by short runs, which hear signals as the run itself does."""
    random = np.random.default_rng(1)
    trainer = pycrfsuite.Trainer("l2sgd", {"max_iterations": 1, "calibration.max_trials": 200, "calibration.candidates": 100}, verbose=False)
    for _ in range(1000):
        trainer.append([[f"f{k}" for k in random.integers(0, 500, 20)] for _ in range(20)], [f"L{k}" for k in random.integers(0, 30, 20)])
    begin = time.monotonic()
    pressed = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        pressed.start()
        trainer.train("")
    assert time.monotonic() - begin < 10


def test_iterators_and_the_model_file(tmp_path):
    path = str(tmp_path / "model")
    crf = sklearn_crfsuite.CRF(model_filename=path).fit(iter(X), (y for y in Y), iter(X), iter(Y))
    assert crf.modelfile.name == path and os.path.getsize(path) == crf.size_
    assert sklearn_crfsuite.CRF().fit(X, Y).modelfile.name is None
    with pytest.raises(TypeError, match="X is int: give a list of sequences"):
        sklearn_crfsuite.CRF().fit(5, Y)


def test_flatten():
    from crfkit.compat.sklearn_crfsuite.utils import flatten

    assert flatten(Y) == ["NAME", "VERB", "NOUN", "VERB", "ADV"]
