"""Skip chains: links between distant tokens."""

import pickle

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, SkipChainCRF

RULE = "same(0) and capitalised(0)"


def documents():
    """A name is known by the word before its first occurrence; the second one is known only by the link."""
    X, y = [], []
    for k, name in enumerate(["Ada", "Bob", "Cy", "Dot", "Eve", "Fay", "Gus", "Hal"]):
        person = k % 2 == 0
        X.append(["Mrs" if person else "in", name, "x", "x", "x", name, "x"])
        label = "PER" if person else "LOC"
        y.append(["O", label, "O", "O", "O", label, "O"])
    return X, y


def test_links_carry_what_is_known_of_a_word_to_its_other_occurrence():
    X, y = documents()
    template = "U1:%x[0,0]\nU2:%x[-1,0]\nB\n"
    new = [["Mrs", "Zoe", "x", "x", "x", "Zoe", "x"], ["in", "Zoe", "x", "x", "x", "Zoe", "x"]]
    settings = {"template": template, "sigma": 10.0, "min_count": 3}
    skip = SkipChainCRF(skip=RULE, inference="exact", **settings).fit(X, y)
    assert [labels[5] for labels in skip.predict(new)] == ["PER", "LOC"]
    assert skip.score(X, y) == 1.0
    assert list(skip.classes_) == ["LOC", "O", "PER"]
    chain = ChainCRF(**settings).fit(X, y)
    assert len({labels[5] for labels in chain.predict(new)}) == 1
    marginals = skip.predict_marginals(new)
    assert [part.shape for part in marginals] == [(7, 3)] * 2
    assert np.allclose(marginals[0].sum(axis=1), 1.0)


def test_a_rule_that_links_nothing_is_a_plain_chain():
    X, y = documents()
    settings = {"template": "U1:%x[0,0]\nB\n", "params": {"tolerance": 1e-10}, "optimizer": "lbfgs"}
    skip = SkipChainCRF(skip='equals(0, "never")', **settings).fit(X, y)
    chain = ChainCRF(states="all", transitions="all", **settings).fit(X, y)
    plain = ChainCRF(**settings).fit(X, y)
    found = skip.predict_marginals(X)
    near = [max(np.abs(a - b).max() for a, b in zip(found, other.predict_marginals(X))) for other in (chain, plain)]
    assert min(near) < 1e-4, near


def test_features_of_links_and_fields_and_arrays():
    X, y = documents()
    rows = [[(word, word[0].lower()) for word in x] for x in X]
    observed = SkipChainCRF(skip="same(1) and not equals(0, \"x\")", skip_features=True, template="U1:%x[0,0]\nU2:%x[0,1]\nB\n").fit(rows, y)
    plain = SkipChainCRF(skip="same(1) and not equals(0, \"x\")", template="U1:%x[0,0]\nU2:%x[0,1]\nB\n").fit(rows, y)
    assert observed.score(rows, y) == 1.0
    assert len(observed.model_.weights()) > len(plain.model_.weights())
    arrays = [(x, np.array([[float(word[0].isupper())] for word in x])) for x in X]
    both = SkipChainCRF(skip=RULE).fit(arrays, y, X_dev=arrays, y_dev=y, sample_weight=[1.0] * len(X))
    assert both.score(arrays, y) > 0.8


def test_a_model_of_skip_chains_is_kept_and_read():
    X, y = documents()
    crf = SkipChainCRF(skip=RULE).fit(X, y)
    again = SkipChainCRF.from_model(crfkit.Model.from_bytes(crf.model_.to_bytes()))
    assert list(again.predict(X)) == list(crf.predict(X))
    assert list(pickle.loads(pickle.dumps(crf)).predict(X)) == list(crf.predict(X))
    assert crf.fit(X, y).model_.to_bytes() == again.model_.to_bytes()
    assert list(crf.predict([[]])[0]) == []


def test_mistakes():
    X, y = documents()
    with pytest.raises(crfkit.SettingError, match="sme"):
        SkipChainCRF(skip="sme(0)").fit(X, y)
    with pytest.raises(crfkit.CrfkitError, match="column|field"):
        SkipChainCRF(skip="same(7)").fit(X, y)
    with pytest.raises(TypeError, match="skip is 3"):
        SkipChainCRF(skip=3).fit(X, y)
    with pytest.raises(TypeError, match=r"y\[0\]\[1\] is None"):
        SkipChainCRF().fit([["a", "b"]], [["O", None]])
    with pytest.raises(TypeError, match=r"y\[0\] is 'OO'"):
        SkipChainCRF().fit([["a", "b"]], ["OO"])
    with pytest.raises(crfkit.DataError, match="length 2.*length 1"):
        SkipChainCRF().fit([["a", "b"]], [["O"]])
    with pytest.raises(crfkit.DataError, match="array"):
        SkipChainCRF().fit([np.zeros((2, 1))], [["O", "O"]])


def test_engines():
    """By default it is belief propagation; exact inference is asked for, and rejected where its tables would be too large."""
    X = [["a", "b", "a", "b", "a", "b", "a", "b"], ["b", "a", "b", "b", "a", "a", "b", "a"]]
    y = [["X", "Y", "X", "X", "Y", "Y", "X", "Y"], ["Y", "X", "X", "Y", "Y", "X", "Y", "X"]]
    settings = {"skip": "same(0)", "optimizer": "lbfgs", "sigma": 10.0, "template": "U:%x[0,0]\nB\n"}
    found = {engine: SkipChainCRF(inference=engine, **settings).fit(X, y) for engine in (None, "loopy-bp", "exact")}
    near = {engine: np.concatenate(crf.predict_marginals(X)) for engine, crf in found.items()}
    assert np.array_equal(near[None], near["loopy-bp"]) and np.abs(near[None] - near["exact"]).max() > 0.01
    with pytest.raises(crfkit.SettingError, match="memory"):
        SkipChainCRF(inference="exact", params={"memory_limit": 1000}, **settings).fit(X, y)


def test_missing_labels():
    X, y = documents()
    y = [[None if t == 5 else {"O", "LOC"} if label == "O" and t == 2 else label for t, label in enumerate(labels)] for labels in y]
    crf = SkipChainCRF(skip=RULE, inference="exact", partial_labels=True).fit(X, y)
    assert list(crf.classes_) == ["LOC", "O", "PER"] and crf.score(X, y) == 1.0
    assert [labels[5] for labels in crf.predict(X)] == ["PER", "LOC"] * 4
    assert crf.score(X[:1], [["?", "O|PER", "LOC", "?", "?", "?", "?"]]) == 0.5
    with pytest.raises(TypeError, match="set partial_labels=True"):
        SkipChainCRF(skip=RULE).fit(X, y)


def test_restrictions():
    X, y = documents()
    crf = SkipChainCRF(skip=RULE, inference="exact").fit(X, y)
    # What is known of one occurrence carries over to the other.
    fixed = [["LOC" if t == 5 else None for t in range(7)]]
    assert crf.predict([["Mrs", "Zoe", "x", "x", "x", "Zoe", "x"]], allowed=fixed)[0][5] == "LOC"
    marginals = crf.predict_marginals(X[:1], allowed=fixed)[0]
    assert marginals[5].tolist() == pytest.approx([1.0, 0.0, 0.0])
    assert marginals[1][0] > crf.predict_marginals(X[:1])[0][1][0]
    assert np.allclose(marginals.sum(axis=1), 1.0)
