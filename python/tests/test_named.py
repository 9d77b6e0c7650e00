"""Named features of nodes and factors."""

import pickle

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, GraphCRF, Objective

WORDS = [["the", "old", "man"], ["a", "man"], ["old", "the", "man", "a"]]
LABELS = [["D", "A", "N"], ["D", "N"], ["A", "D", "N", "D"]]
TOKENS = [[{"word": w, "length": len(w) / 3, "short": len(w) < 3} for w in words] for words in WORDS]


def edges(n):
    return np.array([[i, i + 1] for i in range(n - 1)])


def test_a_graph_that_is_a_chain_has_its_marginals():
    graphs = [(tokens, edges(len(tokens))) for tokens in TOKENS]
    settings = {"optimizer": "lbfgs", "params": {"scaling": "none", "tolerance": 1e-9}, "passes": 500}
    graph = GraphCRF(inference="exact", **settings).fit(graphs, LABELS)
    # A node has a constant besides.
    chain = ChainCRF(states="all", transitions="all", **settings)
    tokens = [[{**token, "bias": 1.0} for token in tokens] for tokens in TOKENS]
    for a, b in zip(graph.predict_marginals(graphs), chain.fit(tokens, LABELS).predict_marginals(tokens)):
        np.testing.assert_allclose(a, b, atol=1e-4)
    names = {observation for _, observation, _, _ in graph.model_.heaviest(1000)[1]}
    assert {"word:old", "length", "short"} <= names
    again = pickle.loads(pickle.dumps(graph))
    assert [list(found) for found in again.predict(graphs)] == [list(found) for found in graph.predict(graphs)]
    loaded = GraphCRF.from_model(crfkit.Model.from_bytes(graph.model_.to_bytes()))
    assert list(loaded.predict([([{"word": "old", "never": "seen"}], [])])[0]) == ["A"]


def test_names_and_numbers_say_the_same():
    """A feature called x with a value is a column of numbers."""
    numbers = [np.array([[token["length"], 1.0 * token["short"]] for token in tokens]) for tokens in TOKENS]
    named = [[{"length": x, "short": s} for x, s in array] for array in numbers]
    beside = [([{"short": s} for _, s in array], array[:, :1]) for array in numbers]
    found = []
    for nodes in (numbers, named, beside):
        objective = Objective.graph([(x, edges(len(x[0]) if isinstance(x, tuple) else len(x))) for x in nodes], LABELS)
        value, gradient = objective.value_and_grad(np.zeros(objective.dim))
        found.append((value, np.sort(gradient)))
    for value, gradient in found[1:]:
        assert value == pytest.approx(found[0][0])
        np.testing.assert_allclose(gradient, found[0][1], atol=1e-6)


def test_factors_have_names_too():
    same = [{"near": 1.5}, {"near": True}]
    x = (np.zeros((3, 0)), edges(3), same)
    plain = Objective.graph([x[:2]], LABELS[:1]).dim
    # One name for each pair of three labels.
    assert Objective.graph([x], LABELS[:1]).dim == plain + 9
    assert Objective.graph([(*x[:2], (same, np.ones((2, 2))))], LABELS[:1]).dim == plain + 27
    lists = (x[0], x[1], [["near"], ["far", "odd"]])
    assert Objective.graph([lists], LABELS[:1]).dim == plain + 27
    assert len(GraphCRF().fit([x], LABELS[:1]).predict([x])[0]) == 3


def test_rare_names_can_be_left_out():
    graphs = [(tokens, edges(len(tokens))) for tokens in TOKENS]
    dims = [Objective.graph(graphs, LABELS, min_count=count).dim for count in (1, 3, 100)]
    assert dims[0] > dims[1] > dims[2]


def test_types_may_differ():
    x = {"nodes": {"page": [["flour"], ["oven", "hot"]], "site": np.ones((1, 2))}, "factors": {"in": [[0, 0], [1, 0]]}}
    y = {"page": ["cook", "cook"], "site": [1]}
    crf = GraphCRF(factors={"in": ["page", "site"]}).fit([x], [y])
    assert list(crf.predict([x])[0]["page"]) == ["cook", "cook"]


@pytest.mark.parametrize(
    "nodes,error,message",
    [
        ([{"a": None}, {"a": 1}], TypeError, r"""X\[0\]: "node"\[0\]\['a'\] is None"""),
        ([{"a": 1}, {"a": float("nan")}], crfkit.DataError, r"""X\[0\]: "node"\[1\]\['a'\] is NaN"""),
        ([{"a": 1}, "b"], TypeError, r"""X\[0\]: "node"\[1\] is a string"""),
        ([{"a": 1}, {3: 1}], TypeError, "the name of a feature is a string"),
        (([{"a": 1}, {"a": 1}], np.zeros((3, 1))), crfkit.DataError, "2 sets of named features, but 3 rows"),
        ([{"a": 1e10}, {"a": 1}], crfkit.DataError, "scale it"),
        ([{"a": 1}], crfkit.DataError, "labels of length 2"),
    ],
)
def test_bad_names(nodes, error, message):
    with pytest.raises(error, match=message):
        GraphCRF().fit([(nodes, [[0, 1]])], [["k", "l"]])


def test_bad_names_of_factors():
    with pytest.raises(crfkit.DataError, match="sets of named features|rows"):
        GraphCRF().fit([(np.zeros((2, 1)), [[0, 1]], [{"a": 1}, {"a": 2}])], [["k", "l"]])
    with pytest.raises(TypeError, match=r"""X\[0\]: "edge"\[0\]"""):
        GraphCRF().fit([(np.zeros((2, 1)), [[0, 1]], [{"a": object()}])], [["k", "l"]])
