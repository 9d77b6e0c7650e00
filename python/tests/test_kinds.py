"""Estimators of grids, graphs, factorial chains, and of counts."""

import copy
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict

import crfkit
from crfkit import EmpiricalTagger, FactorialCRF, GraphCRF, GridCRF, SkipChainCRF


def squares(count=6, side=8, labels=(0, 1), noise=0.7):
    rng = np.random.default_rng(7)
    X, y = [], []
    for _ in range(count):
        truth = np.zeros((side, side), dtype=int)
        row, column = rng.integers(0, side - 4, size=2)
        truth[row : row + 4, column : column + 4] = 1
        X.append((truth + noise * rng.normal(size=truth.shape))[:, :, np.newaxis])
        y.append(np.asarray(labels)[truth])
    return X, y


def sentences():
    X = [["Ada", "sings"], ["dogs", "bark"], ["Bob", "and", "Ada"], ["cats", "sleep"]] * 3
    tags = {"Ada": ("N", "NAME"), "Bob": ("N", "NAME"), "dogs": ("N", "O"), "cats": ("N", "O"), "and": ("C", "O")}
    return X, [[tags.get(word, ("V", "O")) for word in x] for x in X]


def chains_of_nodes(count=8):
    rng = np.random.default_rng(5)
    X, y = [], []
    for k in range(count):
        n = 3 + k % 3
        labels = rng.integers(0, 2, size=n)
        X.append((labels[:, None] + 0.3 * rng.normal(size=(n, 1)), np.array([[i, i + 1] for i in range(n - 1)])))
        y.append(np.array(["no", "yes"])[labels])
    return X, y


ESTIMATORS = [
    (GridCRF(passes=10), squares()),
    (GraphCRF(inference="exact"), chains_of_nodes()),
    (FactorialCRF(), sentences()),
    (SkipChainCRF(), (sentences()[0], [[a for a, _ in y] for y in sentences()[1]])),
    (EmpiricalTagger(), (sentences()[0], [[a for a, _ in y] for y in sentences()[1]])),
]


@pytest.mark.parametrize("estimator,data", ESTIMATORS, ids=lambda value: type(value).__name__)
def test_every_estimator_is_one_of_scikit_learn(estimator, data):
    X, y = data
    fresh = clone(estimator)
    assert fresh.get_params() == estimator.get_params()
    with pytest.raises(crfkit.NotFittedError):
        fresh.predict(X)
    assert fresh.fit(X, y) is fresh
    assert fresh.score(X, y) > 0.7
    found = fresh.predict(X)
    assert found.ndim == 1 and len(found) == len(X)
    again = pickle.loads(pickle.dumps(fresh))
    for a, b, c in zip(found, again.predict(X), copy.deepcopy(fresh).predict(X)):
        assert np.array_equal(a, b) and np.array_equal(a, c)
    assert fresh.model_.to_bytes() == clone(estimator).fit(X, y).model_.to_bytes()
    with pytest.raises(crfkit.SettingError, match="has no parameter"):
        fresh.set_params(nothing=1)
    with pytest.raises(crfkit.DataError, match="X has"):
        fresh.fit(X, y[:-1])
    with pytest.raises(crfkit.DataError, match="X is empty"):
        fresh.fit([], [])
    assert len(cross_val_predict(clone(estimator), X, y, cv=KFold(2))) == len(X)


def test_grid_search():
    X, y = squares()
    search = GridSearchCV(GridCRF(passes=5), {"sigma": [0.1, 1.0]}, cv=KFold(2)).fit(X, y)
    assert search.best_params_["sigma"] in (0.1, 1.0)
    X, y = chains_of_nodes()
    search = GridSearchCV(GraphCRF(inference="exact"), {"sigma": [0.01, 1.0]}, cv=KFold(2)).fit(X, y)
    assert search.best_score_ > 0.7


def test_grids_smooth():
    X, y = squares(noise=1.0)
    alone = GridCRF(neighbours=0).fit(X[:4], y[:4]).score(X[4:], y[4:])
    joined = GridCRF().fit(X[:4], y[:4]).score(X[4:], y[4:])
    assert joined > alone
    crf = GridCRF(neighbours=8, table="full", unlabelled=9).fit(X, [np.where(np.eye(8) > 0, 9, mask) for mask in y])
    assert list(crf.classes_) == [0, 1]
    marginals = crf.predict_marginals(X)[0]
    assert marginals.shape == (8, 8, 2)
    np.testing.assert_allclose(marginals.sum(axis=2), 1.0)
    np.testing.assert_array_equal(marginals.argmax(axis=2), crf.predict(X)[0])


def test_grids_have_many_labels():
    side = 20
    truth = (np.arange(side * side) % 300).reshape(side, side)
    X = [np.stack([truth / 150 - 1, (truth / 150 - 1) ** 2], axis=2)]
    crf = GridCRF(neighbours=0, passes=3, params={"init": "zero"}).fit(X, [truth])
    assert len(crf.classes_) == 300 and crf.classes_[-1] == 299
    again = crfkit.Model.from_bytes(crf.model_.to_bytes())
    np.testing.assert_array_equal(GridCRF.from_model(again).predict(X)[0], crf.predict(X)[0])


def test_grids_compare_other_numbers_and_pairs_have_their_own():
    X, y = squares()
    compared = [{"nodes": x, "compare": x**2} for x in X]
    given = [{"nodes": x, "horizontal": x[:, 1:] - x[:, :-1], "vertical": x[1:] - x[:-1]} for x in X]
    for images in (compared, given):
        assert GridCRF(passes=10).fit(images, y).score(images, y) > 0.7
    with pytest.raises(crfkit.DataError, match="horizontal"):
        GridCRF().fit([{"nodes": X[0], "vertical": X[0]}], y[:1])
    with pytest.raises(crfkit.DataError, match="give nodes"):
        GridCRF().fit([{"pixels": X[0]}], y[:1])


@pytest.mark.parametrize(
    "x,y,error,message",
    [
        (np.zeros((2, 2)), np.zeros((2, 3), int), crfkit.DataError, "has the shape"),
        (np.zeros((2, 2)), np.zeros((2, 2)), TypeError, "whole numbers"),
        (np.zeros((2, 2)), np.full((2, 2), 70000), crfkit.DataError, "above 65535"),
        (np.full((2, 2), np.nan), np.zeros((2, 2), int), crfkit.DataError, "not finite"),
        ([["a", "b"]], np.zeros((1, 2), int), TypeError, "not an array of numbers"),
        (np.zeros((2, 2, 1, 1)), np.zeros((2, 2), int), crfkit.DataError, "has the shape"),
    ],
)
def test_bad_images(x, y, error, message):
    with pytest.raises(error, match=message):
        GridCRF().fit([x], [y])


def test_graphs_agree_with_chains():
    """A graph that is a chain has the marginals of a chain."""
    X, y = chains_of_nodes()
    graph = GraphCRF(inference="exact", optimizer="lbfgs", params={"scaling": "none"}, sigma=1.0).fit(X, y)
    tokens = [[{"x": float(v), "bias": 1.0} for v in x[0][:, 0]] for x in X]
    # The same weights: a constant and the number of each node, and one weight for each pair of labels.
    chain = crfkit.ChainCRF(optimizer="lbfgs", states="all", transitions="all", params={"scaling": "none"}).fit(tokens, y)
    for a, b in zip(graph.predict_marginals(X), chain.predict_marginals(tokens)):
        np.testing.assert_allclose(a, b, atol=2e-3)
    assert list(graph.classes_) == ["no", "yes"]


def test_typed_graphs():
    rng = np.random.default_rng(2)
    X, y = [], []
    for _ in range(12):
        people, films = rng.normal(size=(3, 1)), rng.normal(size=(2, 2))
        likes = np.array([[p, f] for p in range(3) for f in range(2)])
        X.append({"nodes": {"person": people, "film": films}, "factors": {"likes": (likes, rng.normal(size=(6, 1)))}})
        y.append({"person": np.where(people[:, 0] > 0, "old", "young"), "film": np.where(films[:, 0] > 0, 3, 1)})
    crf = GraphCRF(factors={"likes": ["person", "film"]}, inference="exact").fit(X, y)
    assert crf.score(X, y) > 0.9
    found = crf.predict(X)[0]
    assert set(found) == {"person", "film"} and found["film"].dtype.kind == "i"
    assert crf.predict_marginals(X)[0]["film"].shape == (2, 2)
    assert list(crf.classes_["film"]) == [1, 3]
    with pytest.raises(crfkit.SettingError, match="name the type of each"):
        GraphCRF().fit(X, y)
    y[0] = {**y[0], "person": ["old", None, None]}
    assert GraphCRF(factors={"likes": ["person", "film"]}, inference="exact").fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    "x,y,error,message",
    [
        ((np.zeros((2, 1)), [[0, 2]]), ["a", "b"], crfkit.DataError, "node 2, but the type .node. has 2, counted from 0"),
        ((np.zeros((2, 1)), [[0, 0]]), ["a", "b"], crfkit.DataError, "twice"),
        ((np.zeros((2, 1)), [[0.5, 1]]), ["a", "b"], TypeError, "^X.0.: the members of 'edge' are of type float64: .*whole numbers"),
        ((np.zeros((2, 1)), [[0, 1]]), ["a"], crfkit.DataError, "labels of length 1 for nodes of type .node., of which its graph has 2$"),
        ((np.zeros((2, 1)), [[0, 1]]), "ab", TypeError, r"^y\[0\] is 'ab': give a list"),
        ((np.zeros((2, 1)), [[0, 1]]), None, TypeError, r"^y\[0\] is None: give a list"),
        ((np.zeros((2, 1)), [[0, 1]]), ["a", "\ud800"], crfkit.DataError, "have the label .*not text in UTF-8"),
        ({"nodes": {1: np.zeros((2, 1))}}, {1: ["a", "b"]}, TypeError, "has the type 1 .int., which is not a string"),
        ({"nodes": {"\ud800": np.zeros((2, 1))}}, {"\ud800": ["a", "b"]}, crfkit.DataError, "not text in UTF-8"),
        ((np.zeros((2, 1)), [[0, 1]], np.zeros((2, 1))), ["a", "b"], crfkit.DataError, "2 rows"),
        ((np.full((2, 1), np.inf), [[0, 1]]), ["a", "b"], crfkit.DataError, "not finite"),
        ("graph", ["a"], TypeError, "give a tuple"),
        ((np.zeros((2, 1)), [[0, 1]]), [None, None], crfkit.DataError, "has a label"),
    ],
)
def test_bad_graphs(x, y, error, message):
    with pytest.raises(error, match=message):
        GraphCRF().fit([x], [y])


@pytest.mark.parametrize("params, name", [({"decode": 3}, "decode"), ({"table": {"edge": 3}}, "table.'edge'."), ({"inference": 3}, "inference")])
def test_names_of_choices_are_strings(params, name):
    X, y = [(np.zeros((2, 1)), [[0, 1]])], [["a", "b"]]
    with pytest.raises((TypeError, crfkit.SettingError), match=f"^{name} is 3: give a string"):
        GraphCRF(**params).fit(X, y).predict(X)
    choices = {key: 3 if isinstance(value, dict) else value for key, value in params.items()}
    with pytest.raises((TypeError, crfkit.SettingError), match=f"^{name.split('.')[0]} is 3: give a string"):
        GridCRF(**choices).fit([np.zeros((2, 2))], [np.eye(2, dtype=int)]).predict([np.zeros((2, 2))])
    with pytest.raises(crfkit.DataError, match=r"^pixel_weight\[0\] has -1.0, which is not a finite number"):
        GridCRF(objective="pseudolikelihood").fit([np.zeros((1, 2))], [np.eye(1, 2, dtype=int)], pixel_weight=[np.full((1, 2), -1.0)])


def test_factorial_chains():
    X, y = sentences()
    crf = FactorialCRF().fit(X, y, X_dev=X[:4], y_dev=y[:4], sample_weight=[1.0] * len(X))
    assert crf.predict([["Ada", "sings"], []])[1] == []
    assert [list(names) for names in crf.classes_] == [["C", "N", "V"], ["NAME", "O"]]
    for part in crf.predict_marginals(X)[0]:
        np.testing.assert_allclose(part.sum(axis=1), 1.0)
    again = FactorialCRF.from_model(crfkit.Model.from_bytes(crf.model_.to_bytes()))
    assert again.predict(X)[0] == crf.predict(X)[0]
    with pytest.raises(TypeError, match="tuple of labels"):
        FactorialCRF().fit([["a"]], [["N"]])
    with pytest.raises(crfkit.DataError, match="same number"):
        FactorialCRF().fit([["a", "b"]], [[("N", "O"), ("N",)]])
    with pytest.raises(crfkit.DataError, match="length 2"):
        FactorialCRF().fit([["a", "b"]], [[("N", "O")]])


def test_missing_labels_of_factorial_chains():
    X = [["a", "b", "c"]] * 20
    y = [[("X", "p"), ({"X", "Y"}, None), ("Y", "q")], [("X", {"p", "q"}), ("X|Z", "r"), ("?", "q")]] * 10
    crf = FactorialCRF(partial_labels=True, sigma=5.0).fit(X, y)
    assert [list(names) for names in crf.classes_] == [["X", "Y", "Z"], ["p", "q", "r"]]
    assert crf.predict(X[:1])[0] == [("X", "p"), ("X", "r"), ("Y", "q")]
    assert crf.score(X, y) == 1.0
    # Tokens of which nothing is known do not count; one of several is right if it is among them.
    assert crf.score(X[:1], [[(None, "?"), ("Y|X", {"p", "q"}), ("Y", None)]]) == 0.5
    with pytest.raises(TypeError, match=r"y\[0\]\[1\]\[1\] is None.*set partial_labels=True"):
        FactorialCRF().fit(X[:1], [[("X", "p"), ("X", None), ("Y", "q")]])
    for wrong in (5, {"A", 3}, {"A|B"}, {"?"}, set()):
        with pytest.raises(TypeError, match="None is one that is not known"):
            FactorialCRF(partial_labels=True).fit(X[:1], [[("X", wrong)] * 3])
    with pytest.raises(crfkit.SettingError, match="no token of the training data has a label in column 2"):
        FactorialCRF(partial_labels=True).fit(X[:1], [[("X", None)] * 3])


def test_sets_of_labels_and_restrictions_of_graphs():
    edge = np.array([[0, 1]])
    X = [(np.array([[0.0, 1.0], [1.0, 0.0]]), edge)] * 4
    y = [["x", {"y", "z"}], [frozenset({"x", "z"}), "y"], ["x", None], [{"x"}, "y"]]
    crf = GraphCRF(inference="exact").fit(X, y)
    assert list(crf.classes_) == ["x", "y", "z"] and list(crf.predict(X)[0]) == ["x", "y"]
    assert crf.score(X, y) == 1.0 and crf.score(X[:1], [[{"y", "z"}, "y"]]) == 0.5
    # Restricted probabilities are those given the restriction.
    allowed = [[{"y", "z"}, None], [None, "z"], [None, None], ["z", {"x", "z"}]]
    free, limited = crf.predict_marginals(X), crf.predict_marginals(X, allowed=allowed)
    np.testing.assert_allclose(free[2], limited[2])
    assert limited[0][0][0] == 0.0 and limited[1][1].tolist() == pytest.approx([0.0, 0.0, 1.0]) and limited[3][1][1] == 0.0
    np.testing.assert_allclose([part.sum(axis=1) for part in limited], 1.0)
    assert [list(labels) for labels in crf.predict(X, allowed=allowed)][3][0] == "z"
    for given in ([[set(), "x"]], [["w", "x"]], [["x"]], []):
        with pytest.raises(crfkit.DataError, match="empty set|which no node|graph has 2|X has 1"):
            crf.predict(X[:1], allowed=given)
        with pytest.raises(crfkit.DataError):
            GraphCRF().fit(X[:1], given if given != [["w", "x"]] else [])
    numbers = GraphCRF(unlabelled=-1).fit(X, [[0, {1, 2}], [{0, 2}, 1], [-1, 1], [0, np.int64(1)]])
    assert numbers.predict(X)[0].tolist() == [0, 1]


def test_restrictions_of_factorial_chains():
    X, y = sentences()
    crf = FactorialCRF().fit(X, y)
    free = crf.predict(X[:1])[0]
    allowed = [[(None, "NAME")] + [({"N", "V"}, None)] * (len(X[0]) - 1)]
    [first, second] = crf.predict_marginals(X[:1], allowed=allowed)[0]
    np.testing.assert_allclose(second[0], [1.0, 0.0])
    assert first[1][0] == 0.0 and first.sum(axis=1) == pytest.approx(1.0)
    assert crf.predict(X[:1], allowed=allowed)[0][0][1] == "NAME"
    assert crf.predict(X[:1], allowed=[[(None, None)] * len(X[0])])[0] == free
    for given, message in (([[("Q", None)] * len(X[0])], "no label `Q`"), ([[(None, None)]], "length 2, but allowed"), ([], "X has 1")):
        with pytest.raises(crfkit.DataError, match=message):
            crf.predict(X[:1], allowed=given)


def test_counts_add_up():
    X, y = ESTIMATORS[3][1]
    whole = EmpiricalTagger(smoothing=0.1).fit(X, y)
    parts = EmpiricalTagger(smoothing=0.1).partial_fit(X[:5], y[:5]).partial_fit(X[5:], y[5:])
    for a, b in zip(whole.predict_marginals(X), parts.predict_marginals(X)):
        np.testing.assert_allclose(a, b)
    chosen = EmpiricalTagger().fit(X[:8], y[:8], X_dev=X, y_dev=y)
    assert chosen.score(X, y) > 0.9
    with pytest.raises(crfkit.SettingError):
        EmpiricalTagger(method="ep9").fit(X, y)
    with pytest.raises(crfkit.SettingError, match="smoothing"):
        EmpiricalTagger(smoothing=-1.0).fit(X, y)


def test_warm_start_of_other_kinds():
    X, y = squares()
    crf = GridCRF(warm_start=True, optimizer="lbfgs").fit(X, y)
    first = crf.objective_
    assert first < crf.history_["objective"][0]
    crf.fit(X, y)
    assert crf.history_["objective"][0] == pytest.approx(first)
    assert crf.objective_ <= first


def test_callbacks_of_other_kinds():
    X, y = squares()
    seen = []
    crf = GridCRF(callback=lambda state: seen.append(state["passes"]) or len(seen) < 2).fit(X, y)
    assert crf.stop_reason_ == "interrupted" and seen


def test_an_image_with_other_channels_is_an_error_that_names_both_numbers():
    X, y = squares(count=2)
    colours = [np.concatenate([x] * 3, axis=2) for x in X]
    grid = GridCRF(passes=3).fit(X, y)
    with pytest.raises(crfkit.DataError, match=r"X\[0\].*3 channels \(coloured\).*1 channel \(grey\)"):
        grid.predict(colours)
    with pytest.raises(crfkit.DataError, match=r"X\[0\].*2 channels.*3 channels"):
        GridCRF(passes=3).fit(colours, y).predict([x[:, :, :2] for x in colours])


def test_ctrl_c_ends_labelling_at_the_next_image():
    rng = np.random.default_rng(4)
    crf = GridCRF(passes=2).fit([rng.normal(size=(8, 8))], [rng.integers(0, 2, size=(8, 8))])
    images = [rng.normal(size=(50, 50))] * 2000
    begin = time.process_time()
    crf.predict(images[:100])
    whole = 20 * (time.process_time() - begin)
    pressed = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        pressed.start()
        crf.predict(images)
    assert time.process_time() - begin < 0.7 * whole
    assert len(crf.predict(images[:3])) == 3
