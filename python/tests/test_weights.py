"""Weights of sequences, images and graphs, of their tokens, pixels and nodes, and of labels."""

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, FactorialCRF, GraphCRF, GridCRF, Objective

RANDOM = np.random.default_rng(3)
IMAGES = [RANDOM.normal(size=(3, 4, 2)) for _ in range(3)]
MASKS = [RANDOM.integers(0, 3, size=(3, 4)) for _ in range(3)]
GRAPHS = [(RANDOM.normal(size=(n, 2)), np.array([[i, i + 1] for i in range(n - 1)])) for n in (3, 4, 5)]
NODES = [np.array(["a", "b", "c"])[RANDOM.integers(0, 3, size=len(x))] for x, _ in GRAPHS]
# Every token has the same features, so that their numbers do not depend on how often a sequence is there.
TOKENS = [[{"u": RANDOM.normal(), "v": RANDOM.normal()} for _ in range(n)] for n in (3, 4, 5)]
LABELS = [["a", "b", "c"], ["c", "a", "a", "b"], ["b", "b", "c", "a", "c"]]
PLAIN = {"sigma": None, "params": {"scaling": "none"}}
KINDS = {
    "chain": (Objective.chain, TOKENS, LABELS, {"states": "all"}),
    "grid": (Objective.grid, IMAGES, MASKS, {}),
    "graph": (Objective.graph, GRAPHS, NODES, {"inference": "exact"}),
}
SINGLE = {"chain": "token_weight", "grid": "pixel_weight", "graph": "node_weight"}


def value(kind, numbers=None, **more):
    """The objective at some weights."""
    make, X, y, params = KINDS[kind]
    if numbers is not None:
        X, y = [X[k] for k in numbers], [y[k] for k in numbers]
    objective = make(X, y, **PLAIN, **params, **more)
    theta = np.sin(np.arange(objective.dim))
    v, g = objective.value_and_grad(theta)
    return np.concatenate([[v], g])


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_of_2_counts_twice_and_0_not_at_all(kind):
    np.testing.assert_allclose(value(kind, sample_weight=[2, 1, 1]), value(kind, [0, 0, 1, 2]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(value(kind, sample_weight=[0, 1, 1]), value(kind, [1, 2]), rtol=1e-9, atol=1e-9)
    half = value(kind, sample_weight=np.full(3, 0.5))
    np.testing.assert_allclose(2 * half, value(kind), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_single_labels_add_up(kind):
    y = KINDS[kind][2]
    one = [RANDOM.random(np.shape(labels)) for labels in y]
    other = [1 - weights for weights in one]
    found = [value(kind, objective="pseudolikelihood", **{SINGLE[kind]: weights}) for weights in (one, other)]
    assert not np.allclose(found[0], found[1])
    np.testing.assert_allclose(sum(found), value(kind, objective="pseudolikelihood"), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["grid", "graph"])
def test_weights_of_labels_are_those_of_their_pixels_and_nodes(kind):
    y = KINDS[kind][2]
    label = y[0].ravel()[0]
    weights = [np.where(labels == label, 3.0, 1.0) for labels in y]
    a = value(kind, objective="marginal", class_weight={label: 3.0})
    np.testing.assert_allclose(a, value(kind, objective="marginal", **{SINGLE[kind]: weights}), rtol=1e-9, atol=1e-9)
    assert not np.allclose(a, value(kind, objective="marginal"))


def test_weights_of_labels_of_sequences():
    a = value("chain", class_weight={"c": 3, "a": 2}, sample_weight=[1, 2, 1])
    np.testing.assert_allclose(a, value("chain", sample_weight=[3, 6, 3]))
    with pytest.raises(crfkit.SettingError, match="nothing has this label"):
        ChainCRF(class_weight={"z": 2}).fit(TOKENS, LABELS)
    with pytest.raises(TypeError, match="give a dict"):
        ChainCRF(class_weight="balanced").fit(TOKENS, LABELS)


ESTIMATORS = {"chain": ChainCRF(), "grid": GridCRF(passes=3), "graph": GraphCRF(passes=3)}


@pytest.mark.parametrize("kind", KINDS)
def test_fit_takes_them(kind):
    _, X, y, _ = KINDS[kind]
    crf = ESTIMATORS[kind]
    a = crf.fit(X, y, sample_weight=[1, 1, 0]).model_.to_bytes()
    # A weight of 0 leaves out the labels of an example too, but not those of images and graphs, which are known before.
    assert a != crf.fit(X, y).model_.to_bytes()
    with pytest.raises(crfkit.DataError, match="sample_weight has length 2"):
        crf.fit(X, y, sample_weight=[1, 1])
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(crfkit.DataError, match="finite number of at least 0"):
            crf.fit(X, y, sample_weight=[1, wrong, 1])
    with pytest.raises(crfkit.SettingError, match="above 0"):
        crf.fit(X, y, sample_weight=[0, 0, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_objectives_without_a_part_for_single_labels_reject_their_weights(kind):
    _, X, y, _ = KINDS[kind]
    weights = [np.full(np.shape(labels), 0.5) for labels in y]
    with pytest.raises(crfkit.SettingError, match="cannot have weights: use one of pseudolikelihood"):
        ESTIMATORS[kind].fit(X, y, **{SINGLE[kind]: weights})
    with pytest.raises(crfkit.DataError):
        ESTIMATORS[kind].fit(X, y, **{SINGLE[kind]: weights[:2]})
    wrong = [weights[0], weights[1], weights[2][:-1]]
    with pytest.raises(crfkit.DataError):
        ESTIMATORS[kind].fit(X, y, **{SINGLE[kind]: wrong})
    wrong = [weights[0], -weights[1], weights[2]]
    with pytest.raises(crfkit.DataError, match="at least 0"):
        ESTIMATORS[kind].fit(X, y, **{SINGLE[kind]: wrong})


def test_nodes_of_several_types_have_weights():
    X = [{"nodes": {"p": np.eye(2), "q": [["x"], ["y"], ["x"]]}, "factors": {"f": [[0, 0], [1, 2]]}}]
    y = [{"p": [0, 1], "q": ["u", "v", "u"]}]
    crf = {"factors": {"f": ["p", "q"]}, "objective": "marginal", "inference": "exact"}
    given = [{"p": [1.0, 1.0], "q": [1.0, 0.0, 1.0]}]
    plain, weighed = (GraphCRF(**crf).fit(X, y, node_weight=weights) for weights in (None, given))
    v = list(plain.classes_["q"]).index("v")
    assert weighed.predict_marginals(X)[0]["q"][1, v] < plain.predict_marginals(X)[0]["q"][1, v]
    with pytest.raises(crfkit.DataError, match="no weights of type 'q'"):
        GraphCRF(**crf).fit(X, y, node_weight=[{"p": [1, 1]}])


def test_tokens_of_factorial_chains_have_weights():
    X, y = [["a", "b"], ["b", "c"]], [[("K", "x"), ("L", "y")], [("L", "x"), ("K", "y")]]
    one = [[1.0, 1.0], [1.0, 1.0]]
    plain = FactorialCRF(objective="marginal").fit(X, y).model_.to_bytes()
    assert FactorialCRF(objective="marginal").fit(X, y, token_weight=one).model_.to_bytes() == plain
    assert FactorialCRF(objective="marginal").fit(X, y, token_weight=[[1, 0.1], [1, 1]]).model_.to_bytes() != plain
    with pytest.raises(crfkit.SettingError, match="cannot have weights"):
        FactorialCRF().fit(X, y, token_weight=[[1, 0.1], [1, 1]])
    with pytest.raises(crfkit.DataError, match="2 tokens, but 1 weight:"):
        FactorialCRF(objective="marginal").fit(X, y, token_weight=[[1], [1, 1]])


def test_directions_have_weights_of_their_own():
    shared, separate = (Objective.grid(IMAGES, MASKS, directions=way).dim for way in ("shared", "separate"))
    assert separate > shared
    with pytest.raises(crfkit.SettingError, match="choose shared or separate"):
        GridCRF(directions="both").fit(IMAGES, MASKS)
