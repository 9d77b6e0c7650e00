"""Models and estimators in other processes, and in many threads at once."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from crfkit import ChainCRF, EmpiricalTagger, FactorialCRF, GraphCRF, GridCRF, SkipChainCRF

WORDS = [["Ada", "sings"], ["dogs", "bark"]]
TAGS = [["NAME", "V"], ["N", "V"]]
X = [[{"w": f"w{k % 7}"}, {"w": f"w{k % 5}", "n": 0.5}, {"w": "."}] for k in range(60)]
Y = [["A" if token["w"] > "w2" else "B" for token in x] for x in X]


def estimators():
    """An estimator of each kind, with its data."""
    image = np.random.default_rng(1).normal(size=(5, 5))
    graph = (np.array([[0.1], [0.9], [0.8]]), np.array([[0, 1], [1, 2]]))
    return [
        (ChainCRF(sigma=3.0, class_weight={"A": 2.0}), X, Y),
        (ChainCRF(template="default"), WORDS, TAGS),
        (ChainCRF(standardise=True), [image], [list("ABABA")]),
        (GridCRF(), [image], [(image > 0).astype(int)]),
        (GraphCRF(), [graph], [["low", "high", "high"]]),
        (FactorialCRF(), WORDS, [[(tag, "O") for tag in tags] for tags in TAGS]),
        (SkipChainCRF(), WORDS, TAGS),
        (EmpiricalTagger(), WORDS, TAGS),
    ]


def plain(answers):
    return [getattr(answer, "tolist", lambda answer=answer: list(answer))() for answer in answers]


@pytest.mark.parametrize("number", range(len(estimators())))
def test_everything_pickles_and_copies(number):
    estimator, x, y = estimators()[number]
    for again in (pickle.loads(pickle.dumps(estimator)), copy.deepcopy(estimator), copy.copy(estimator)):
        assert repr(again) == repr(estimator) and not hasattr(again, "model_")
    found = plain(estimator.fit(x, y).predict(x))
    copies = [pickle.loads(pickle.dumps(estimator, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for again in (*copies, copy.deepcopy(estimator), copy.copy(estimator)):
        assert plain(again.predict(x)) == found and again.get_params() == estimator.get_params()
    # Also by itself, as the part of another object.
    for whole in (estimator.model_, estimator.tagger_):
        for again in (pickle.loads(pickle.dumps(whole)), copy.deepcopy(whole), copy.copy(whole)):
            assert type(again) is type(whole)
    restored = type(estimator).from_model(pickle.loads(pickle.dumps(estimator.model_)))
    assert [len(answer) for answer in restored.predict(x)] == [len(answer) for answer in found]


PROGRAM = """
import multiprocessing, sys
sys.path.insert(0, {folder!r})
import test_processes as here

def predict(_):
    return [list(labels) for labels in CRF.predict(here.X)]

def fit(_):
    return here.ChainCRF(sigma=3.0).fit(here.X, here.Y).model_.to_bytes()

def tag(number):
    return CRF.tagger_.tag(here.X[number])

CRF = here.ChainCRF(sigma=3.0).fit(here.X, here.Y)

if __name__ == "__main__":
    expected = predict(None)
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert pool.map_async(predict, range(4)).get(100) == [expected] * 4
        assert set(pool.map_async(fit, range(4)).get(100)) == {{CRF.model_.to_bytes()}}
        tagged = pool.map_async(tag, range(3)).get(100)
    assert [list(answer) for answer in tagged] == expected[:3] and tagged[0].marginals.shape == (3, 2)
    print("done")
"""


def run_alone(text, method, folder):
    """Run a program in a process of its own, which has no threads of other tests."""
    program = folder / "program.py"
    program.write_text(text.format(folder=os.path.dirname(__file__), method=method))
    run = subprocess.run([sys.executable, program], cwd=folder, capture_output=True, text=True, timeout=300)
    assert run.stdout == "done\n", run.stderr


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_processes_of_every_start_method(method, tmp_path):
    """A model that has trained and labelled on its threads works in the children, which have none of these threads."""
    run_alone(PROGRAM, method, tmp_path)


JOBLIB = """
import sys
sys.path.insert(0, {folder!r})
import joblib
import test_processes as here

if __name__ == "__main__":
    crf = here.ChainCRF(sigma=3.0).fit(here.X, here.Y)
    expected = [list(labels) for labels in crf.predict(here.X)]
    found = joblib.Parallel(n_jobs=2, backend={method!r})(joblib.delayed(crf.predict)(here.X) for _ in range(3))
    assert all([list(labels) for labels in answer] == expected for answer in found)
    joblib.dump(crf, "model.gz")
    assert [list(labels) for labels in joblib.load("model.gz").predict(here.X)] == expected
    print("done")
"""


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib(backend, tmp_path):
    pytest.importorskip("joblib")
    run_alone(JOBLIB, backend, tmp_path)


def test_threads_label_while_one_trains():
    crf, mistakes = ChainCRF(sigma=3.0).fit(X, Y), []
    expected, model = [list(labels) for labels in crf.predict(X)], crf.model_.to_bytes()

    def label():
        for _ in range(5):
            assert [list(labels) for labels in crf.predict(X)] == expected
            assert [tagged.labels for tagged in crf.tagger_.tag_many(X, threads=2)] == expected
            assert [crf.tagger_.tag(x).labels for x in X[:5]] == expected[:5]

    def train():
        assert ChainCRF(sigma=3.0).fit(X, Y).model_.to_bytes() == model

    def run(task):
        try:
            task()
        except BaseException as mistake:
            mistakes.append(mistake)

    threads = [threading.Thread(target=run, args=(task,)) for task in [label] * 8 + [train]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not mistakes
