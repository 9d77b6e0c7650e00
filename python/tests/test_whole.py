"""Whole labellings of factorial chains, skip chains and graphs: the best ones, their probabilities and the entropy, against enumeration."""

import itertools

import numpy as np
import pytest

import crfkit
import crfkit.text
from crfkit import ChainCRF, FactorialCRF, GraphCRF, Objective, SkipChainCRF

WORDS = [["Ada", "sings"], ["dogs", "bark"], ["Bob", "and", "Ada"], ["cats", "sleep"]]
TAGS = {"Ada": ("N", "NAME"), "Bob": ("N", "NAME"), "dogs": ("N", "O"), "cats": ("N", "O"), "and": ("C", "O")}
PAIRS = [[TAGS.get(word, ("V", "O")) for word in x] for x in WORDS]


def factorial():
    return FactorialCRF(sigma=1.0).fit(WORDS, PAIRS)


def skip():
    return SkipChainCRF(skip="same(0)", inference="exact").fit(WORDS, [[a for a, _ in y] for y in PAIRS])


def by_the_chain_rule(crf, x, labels):
    """P(labels) as a product of marginals, each of which is conditional on the labels before it."""
    columns = len(labels[0]) if isinstance(labels[0], tuple) else 1
    classes = [list(names) for names in (crf.classes_ if columns > 1 else [crf.classes_])]
    fixed = [[None] * columns for _ in x]
    p = 1.0
    for t, c in itertools.product(range(len(x)), range(columns)):
        allowed = [tuple(token) if columns > 1 else token[0] for token in fixed]
        found = crf.predict_marginals([x], allowed=[allowed])[0]
        label = labels[t][c] if columns > 1 else labels[t]
        p *= (found[c] if columns > 1 else found)[t, classes[c].index(label)]
        fixed[t][c] = label
    return p


@pytest.mark.parametrize("make", [factorial, skip])
def test_labellings_of_sequences_equal_enumeration(make):
    crf, x = make(), ["Ada", "and", "Ada"]
    columns = crf.classes_ if isinstance(crf.classes_, list) else [crf.classes_]
    tokens = [labels if len(columns) > 1 else labels[0] for labels in itertools.product(*columns)]
    everything = [list(labels) for labels in itertools.product(tokens, repeat=len(x))]
    logs = crf.log_probability([x] * len(everything), everything)
    assert logs.shape == (len(everything),)
    np.testing.assert_allclose(np.exp(logs).sum(), 1.0, atol=1e-9)
    for k in range(0, len(everything), 7):
        assert np.exp(logs[k]) == pytest.approx(by_the_chain_rule(crf, x, everything[k]), rel=1e-6, abs=1e-12)
    order = np.argsort(-logs, kind="stable")
    [ranked] = crf.nbest([x], 5)
    assert [p for _, p in ranked] == pytest.approx(np.exp(logs[order[:5]]))
    for labels, p in ranked:
        assert p == pytest.approx(np.exp(logs[everything.index(labels)]))
    assert ranked[0][0] == crf.predict([x])[0]
    assert crf.log_probability([x])[0] == pytest.approx(logs.max())
    assert crf.entropy([x])[0] == pytest.approx(-(np.exp(logs) * logs).sum())
    assert len(crf.nbest([x], 10_000)[0]) == len(everything)
    # Given the label of the first token.
    first = tokens[0]
    allowed = [[first, None, None]] if len(columns) == 1 else [[first, (None, None), (None, None)]]
    kept = [k for k, labels in enumerate(everything) if labels[0] == first]
    z = np.exp(logs[kept]).sum()
    found = crf.log_probability([x] * len(kept), [everything[k] for k in kept], allowed=allowed * len(kept))
    np.testing.assert_allclose(np.exp(found), np.exp(logs[kept]) / z, atol=1e-9)
    assert all(labels[0] == first for labels, _ in crf.nbest([x], 4, allowed=allowed)[0])
    other = next(labels for labels in everything if labels[0] != first)
    assert crf.log_probability([x], [other], allowed=allowed)[0] == -np.inf
    p = np.exp(logs[kept]) / z
    assert crf.entropy([x], allowed=allowed)[0] == pytest.approx(-(p * np.log(p)).sum())


def test_empty_sequences_have_one_labelling():
    crf = factorial()
    assert crf.nbest([[], ["Ada"]], 1)[0] == [([], 1.0)]
    assert crf.log_probability([[]], [[]])[0] == 0.0
    assert crf.entropy([[]])[0] == 0.0


def test_what_is_wrong_is_said():
    crf, loose = factorial(), SkipChainCRF().fit(WORDS, [[a for a, _ in y] for y in PAIRS])
    for ask in (lambda: loose.nbest(WORDS, 2), lambda: loose.log_probability(WORDS), lambda: loose.entropy(WORDS)):
        with pytest.raises(crfkit.CrfkitError, match="need exact inference"):
            ask()
    with pytest.raises(ValueError, match="n is 0"):
        crf.nbest(WORDS, 0)
    with pytest.raises(crfkit.DataError, match=r"y\[0\]\[1\] has the label \"Z\""):
        crf.log_probability([["Ada", "sings"]], [[("N", "O"), ("Z", "O")]])
    with pytest.raises(crfkit.DataError, match=r"X\[0\] has 2 tokens, but y\[0\] has 1"):
        crf.log_probability([["Ada", "sings"]], [[("N", "O")]])
    with pytest.raises(crfkit.DataError, match="3 labels, but"):
        crf.log_probability([["Ada"]], [[("N", "O", "O")]])
    with pytest.raises(crfkit.DataError, match="X has 1 sequences, but y has 2"):
        crf.log_probability([["Ada"]], [[("N", "O")], [("N", "O")]])


def test_labellings_of_graphs_equal_the_objective():
    """−ln P(labels) is the objective of one graph without a prior, at the weights of the model."""
    rng = np.random.default_rng(5)
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    x = (rng.normal(size=(3, 2)), edges)
    names = ["a", "b", "c"]
    keywords = {"sigma": None, "inference": "exact", "params": {"scaling": "none"}}
    data = ([x, x, x], [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])
    theta = rng.normal(size=Objective.graph(*data, **keywords).dim)
    objective = Objective.graph(*data, **keywords)
    crf = GraphCRF.from_model(objective.model(theta))
    everything = [list(labels) for labels in itertools.product(names, repeat=3)]
    logs = crf.log_probability([x] * 27, everything)
    value, _ = objective.value_and_grad(theta)
    assert -sum(logs[everything.index(labels)] for labels in data[1]) == pytest.approx(value)
    np.testing.assert_allclose(np.exp(logs).sum(), 1.0, atol=1e-9)
    [ranked] = crf.nbest([x], 27)
    assert [p for _, p in ranked] == pytest.approx(np.sort(np.exp(logs))[::-1])
    for labels, p in ranked:
        assert p == pytest.approx(np.exp(logs[everything.index(labels.tolist())]))
    np.testing.assert_array_equal(ranked[0][0], crf.predict([x])[0])
    assert crf.log_probability([x])[0] == pytest.approx(logs.max())
    assert crf.entropy([x])[0] == pytest.approx(-(np.exp(logs) * logs).sum())
    assert all(labels[1] == "b" for labels, _ in crf.nbest([x], 5, allowed=[[None, "b", None]])[0])
    with pytest.raises(crfkit.DataError, match="without a label, or with several"):
        crf.log_probability([x], [["a", None, "b"]])
    loose = GraphCRF().fit(*data)
    with pytest.raises(crfkit.CrfkitError, match="need exact inference"):
        loose.nbest([x], 2)


def test_graphs_with_types_have_dicts_of_labels():
    x = {"nodes": {"person": np.array([[0.0], [1.0]]), "film": np.array([[1.0]])}, "factors": {"likes": [[0, 0], [1, 0]]}}
    y = {"person": ["old", "young"], "film": ["long"]}
    other = {"person": ["young", "old"], "film": ["short"]}
    crf = GraphCRF(factors={"likes": ["person", "film"]}, inference="exact").fit([x, x], [y, other])
    [ranked] = crf.nbest([x], 100)
    assert len(ranked) == 8 and sum(p for _, p in ranked) == pytest.approx(1.0)
    labels, p = ranked[3]
    assert crf.log_probability([x], [labels])[0] == pytest.approx(np.log(p))
    assert set(labels) == {"person", "film"} and len(labels["person"]) == 2


def test_partial_labels_are_not_compared():
    gappy = [[None, "VERB"], [{"NOUN", "NAME"}, "VERB"]]
    X, y = [["Ada", "sings"], ["dogs", "bark"]] * 2, [["NAME", "VERB"], ["NOUN", "VERB"]] * 2
    model = ChainCRF(template="default").fit(X, y).model_
    scores = model.evaluate(X[:2], gappy, partial_labels=True)
    assert (scores.tokens, scores.accuracy) == (2, 100.0)
    with pytest.raises(TypeError, match="partial_labels=True"):
        model.evaluate(X[:2], gappy)
    with pytest.raises(TypeError, match="partial_labels=True"):
        model.calibrate(X[:2], gappy)
    assert model.calibrate(X[:2], gappy, partial_labels=True).temperature != 1.0
    # Complete labels mean the same either way.
    assert model.calibrate(X, y, partial_labels=True).temperature == model.calibrate(X, y).temperature


@pytest.mark.parametrize("make", [FactorialCRF, SkipChainCRF])
def test_development_data_may_have_partial_labels(make):
    labels = PAIRS if make is FactorialCRF else [[a for a, _ in y] for y in PAIRS]
    gap = (None, None) if make is FactorialCRF else None
    with_gaps = [[gap] + y[1:] for y in labels]
    crf = make(partial_labels=True).fit(WORDS, labels, X_dev=WORDS, y_dev=with_gaps)
    assert crf.history_["dev_score"][-1] == 100.0


def test_text_needs_models_of_words_alone():
    X = [[("2", "NUM"), ("cups", "NOUN")], [("3", "NUM"), ("eggs", "NOUN")]]
    y = [["B-QTY", "B-UNIT"], ["B-QTY", "B-NAME"]]
    tagger = ChainCRF(template="U:%x[0,0]\nU:%x[0,1]\n").fit(X, y).model_.tagger()
    with pytest.raises(crfkit.SettingError, match=r"trained on 3 columns.*%x\[0,1\].*words alone"):
        tagger.tag_text("2 cups")
    with pytest.raises(crfkit.SettingError, match="words alone"):
        crfkit.text.spans(tagger, "2 cups")
    of_words = ChainCRF(template="U:%x[0,0]\n").fit(X, y).model_.tagger()
    assert [span.label for span in of_words.tag_text("2 cups")] == ["QTY", "UNIT"]
