"""Arrays of numbers as sequences, or beside them."""

import pickle

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, EmpiricalTagger, FactorialCRF, Objective

RANDOM = np.random.default_rng(1)
LABELS = [[("low", "middle", "high")[k] for k in RANDOM.integers(0, 3, size)] for size in (5, 8, 3, 9, 1, 7, 6, 4)]
VALUE = {"low": -1.0, "middle": 0.0, "high": 1.0}
ARRAYS = [
    np.array([[VALUE[label], 1.0, VALUE[label] ** 2] for label in labels]) + 0.2 * RANDOM.standard_normal((len(labels), 3))
    for labels in LABELS
]
# Numbers that single precision holds.
ARRAYS = [array.astype(np.float32).astype(float) for array in ARRAYS]
TOKENS = [[{"at": str(t % 3)} for t in range(len(labels))] for labels in LABELS]
BOTH = list(zip(TOKENS, ARRAYS))


def as_dicts(array, tokens):
    return [{**token, **{f"number{d}": float(x) for d, x in enumerate(row)}} for row, token in zip(array, tokens)]


def sorted_spectrum(objective):
    """The gradient at 0, in an order that does not depend on the numbers of weights."""
    value, gradient = objective.value_and_grad(np.zeros(objective.dim))
    return value, np.sort(gradient[gradient != 0.0])


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("scaling", ["unit", "none"])
def test_the_objective_is_that_of_the_same_numbers_as_features(beside, scaling):
    x = BOTH if beside else ARRAYS
    dicts = [as_dicts(array, tokens if beside else [{}] * len(tokens)) for tokens, array in BOTH]
    settings = {"states": "all", "params": {"scaling": scaling}}
    ours, theirs = (Objective.chain(given, LABELS, **settings) for given in (x, dicts))
    assert ours.dim == theirs.dim and ours.examples == theirs.examples
    (a, g), (b, h) = sorted_spectrum(ours), sorted_spectrum(theirs)
    assert a == pytest.approx(b, rel=1e-12)
    np.testing.assert_allclose(g, h, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("standardise", [False, True])
def test_fit_and_predict(beside, standardise):
    x = BOTH if beside else ARRAYS
    crf = ChainCRF(sigma=10.0, standardise=standardise).fit(x, LABELS, X_dev=x, y_dev=LABELS)
    assert crf.score(x, LABELS) > 0.9
    assert [part.shape for part in crf.predict_marginals(x)] == [(len(labels), 3) for labels in LABELS]
    assert "vector[0]" in crf.feature_names_ and ("at:0" in crf.feature_names_) is beside
    tagger = pickle.loads(pickle.dumps(crf)).tagger_
    assert tagger.tag(x[0]).labels == tagger.tag_many(x)[0].labels == crf.predict(x)[0]


def test_the_dual_form_has_the_same_optimum():
    dicts = [as_dicts(array, [{}] * len(array)) for array in ARRAYS]
    settings = {"states": "all", "optimizer": "lbfgs", "passes": 500, "params": {"tolerance": 1e-9}}
    a = ChainCRF(**settings).fit(ARRAYS, LABELS)
    b = ChainCRF(**settings).fit(dicts, LABELS)
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-5)
    for p, q in zip(a.predict_marginals(ARRAYS), b.predict_marginals(dicts)):
        np.testing.assert_allclose(p, q, atol=1e-2)


def test_standardised_numbers_have_no_scale():
    moved = [1000.0 * array + 5.0 for array in ARRAYS]
    a = ChainCRF(standardise=True).fit(ARRAYS, LABELS)
    b = ChainCRF(standardise=True).fit(moved, LABELS)
    for p, q in zip(a.predict_marginals(ARRAYS), b.predict_marginals(moved)):
        np.testing.assert_allclose(p, q, atol=1e-3)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int32", "uint8", "bool"])
def test_types_and_layouts(kind):
    base = [(np.abs(array) > 0.5).astype(kind) for array in ARRAYS]
    crf = ChainCRF().fit(base, LABELS)
    turned = [np.asfortranarray(array) for array in base]
    parts = [np.repeat(array, 2, axis=1)[:, ::2] for array in base]
    for other in (turned, parts, [array.astype(float) for array in base]):
        assert crf.predict(other).tolist() == crf.predict(base).tolist()


def test_one_array_of_equal_sequences():
    x = np.stack([array[:3] for array in ARRAYS if len(array) >= 3])
    y = [labels[:3] for labels in LABELS if len(labels) >= 3]
    crf = ChainCRF().fit(x, y)
    assert crf.predict(x).shape == (len(y),)


def test_words_of_a_template_beside_arrays():
    words = [["w%d" % (t % 4) for t in range(len(labels))] for labels in LABELS]
    crf = ChainCRF(template="default", sigma=10.0).fit(list(zip(words, ARRAYS)), LABELS)
    assert crf.score(list(zip(words, ARRAYS)), LABELS) > 0.9
    assert crf.tagger_.tag((words[0], ARRAYS[0])).words == words[0]
    with pytest.raises(crfkit.DataError, match=r"X\[0\] is an array: with a template"):
        crf.predict(ARRAYS)


def test_partial_fit():
    crf = ChainCRF(standardise=True, sigma=10.0)
    for x, y in zip(ARRAYS, LABELS):
        crf.partial_fit([x], [y])
    assert crf.score(ARRAYS, LABELS) > 0.8
    with pytest.raises(crfkit.DataError, match=r"X\[0\].*vectors of 2 numbers, but of 3 in training"):
        crf.partial_fit([ARRAYS[0][:, :2]], LABELS[:1])


def test_grid_search_and_pipelines():
    search = pytest.importorskip("sklearn.model_selection")
    pipeline = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    for x in (ARRAYS, BOTH):
        best = search.GridSearchCV(ChainCRF(), {"sigma": [0.01, 10.0], "standardise": [False, True]}, cv=search.KFold(2)).fit(x, LABELS)
        assert best.best_score_ > 0.9 and best.best_params_["standardise"]
    double = preprocessing.FunctionTransformer(lambda x: [2.0 * array for array in x])
    assert pipeline.make_pipeline(double, ChainCRF(sigma=10.0)).fit(ARRAYS, LABELS).score(ARRAYS, LABELS) > 0.9


def test_empty_sequences():
    crf = ChainCRF().fit(ARRAYS + [np.zeros((0, 3))], LABELS + [[]])
    assert crf.predict([np.zeros((0, 3)), ARRAYS[0]])[0] == []


def broken(array, at, value):
    wrong = array.copy()
    wrong[at] = value
    return wrong


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x: ARRAYS[1][:, :2], r"X\[1\].*vectors of 2 numbers, but of 3"),
        (lambda x: TOKENS[1], r"X\[1\].*tokens without vectors"),
        (lambda x: broken(x, (2, 1), np.nan), r"X\[1\] has NaN in row 2, column 1"),
        (lambda x: broken(x, (2, 1), -np.inf), r"X\[1\] has -inf in row 2, column 1"),
        (lambda x: broken(x, (2, 1), 1e200), r"X\[1\] has inf in row 2, column 1"),
        (lambda x: x[:, 0], r"X\[1\] has an array of the shape \(8,\)"),
        (lambda x: x[:, :0], r"X\[1\] has an array of the shape \(8, 0\)"),
        (lambda x: x[:-1], r"X\[1\] has length 7, but y\[1\] has length 8"),
        (lambda x: (TOKENS[1], x[:-1]), r"X\[1\] has 8 tokens, but its array has 7 rows"),
        (lambda x: (TOKENS[1], x[0]), r"X\[1\] has an array of the shape \(3,\)"),
    ],
)
def test_wrong_arrays_are_named(change, message):
    wrong = [ARRAYS[0], change(ARRAYS[1])] + ARRAYS[2:]
    with pytest.raises(crfkit.DataError, match=message):
        ChainCRF().fit(wrong, LABELS)
    if "y\\[1\\]" not in message:
        with pytest.raises(crfkit.DataError, match=message):
            ChainCRF().fit(ARRAYS, LABELS).predict(wrong)


def test_models_without_arrays_take_none():
    crf = ChainCRF().fit(TOKENS, LABELS)
    with pytest.raises(crfkit.DataError, match="there were none in training"):
        crf.predict(ARRAYS)
    words = [[token["at"] for token in tokens] for tokens in TOKENS]
    pairs = [[(label, label) for label in labels] for labels in LABELS]
    with pytest.raises(crfkit.DataError, match=r"X\[0\] has an array"):
        EmpiricalTagger().fit(list(zip(words, ARRAYS)), LABELS)
    factorial = FactorialCRF().fit(words, pairs)
    with pytest.raises(crfkit.DataError, match="there were none in training"):
        factorial.predict(list(zip(words, ARRAYS)))
    with pytest.raises(crfkit.DataError, match=r"X\[0\] is an array, but the model was trained on words"):
        factorial.predict(ARRAYS)


WORDS = [["w%d" % (t % 4) for t in range(len(labels))] for labels in LABELS]
PAIRS = [[(label, "even" if t % 2 == 0 else "odd") for t, label in enumerate(labels)] for labels in LABELS]


def test_factorial_chains_with_one_label_in_a_column_are_chains():
    settings = {"optimizer": "lbfgs", "passes": 500}
    params = {"scaling": "none", "tolerance": 1e-9}
    same = [[(label, "same") for label in labels] for labels in LABELS]
    factorial = FactorialCRF(params={**params, "features": "all"}, **settings).fit(ARRAYS, same)
    # The pairs of both labels of a token are a constant.
    beside = [([{"bias": 1.0}] * len(array), array) for array in ARRAYS]
    chain = ChainCRF(params=params, states="all", **settings).fit(beside, LABELS)
    for (p, _), q in zip(factorial.predict_marginals(ARRAYS), chain.predict_marginals(beside)):
        np.testing.assert_allclose(p, q, atol=1e-3)


@pytest.mark.parametrize("standardise", [False, True])
def test_factorial_chains(standardise):
    for x in (ARRAYS, list(zip(WORDS, ARRAYS))):
        crf = FactorialCRF(sigma=10.0, standardise=standardise).fit(x, PAIRS, X_dev=x, y_dev=PAIRS)
        assert crf.score(x, PAIRS) > 0.9
        again = FactorialCRF.from_model(pickle.loads(pickle.dumps(crf.model_)))
        assert again.predict(x).tolist() == crf.predict(x).tolist()
        assert [part.shape for part in crf.predict_marginals(x)[0]] == [(5, 3), (5, 2)]
        with pytest.raises(crfkit.DataError, match="tokens without vectors"):
            crf.predict(WORDS)
        with pytest.raises(crfkit.DataError, match=r"X\[0\].*vectors of 2 numbers, but of 3 in training"):
            crf.predict([array[:, :2] for array in ARRAYS] if x is ARRAYS else [(w, a[:, :2]) for w, a in x])
    moved = [1000.0 * array + 5.0 for array in ARRAYS]
    if standardise:
        a, b = (FactorialCRF(standardise=True).fit(x, PAIRS).predict_marginals(x) for x in (ARRAYS, moved))
        np.testing.assert_allclose(a[0][0], b[0][0], atol=1e-3)
    empty = FactorialCRF().fit(ARRAYS + [np.zeros((0, 3))], PAIRS + [[]])
    assert empty.predict([np.zeros((0, 3)), ARRAYS[0]])[0] == []
    with pytest.raises(crfkit.DataError, match=r"X\[0\] has length 5, but y\[0\] has length 4"):
        FactorialCRF().fit(ARRAYS[:1], [PAIRS[0][:4]])
    with pytest.raises(crfkit.DataError, match=r"X\[0\] has NaN"):
        FactorialCRF().fit([broken(ARRAYS[0], (1, 1), np.nan)], PAIRS[:1])
    with pytest.raises(crfkit.DataError, match=r"X\[0\] is an array: with a template"):
        FactorialCRF(template="default").fit(ARRAYS, PAIRS)
    mixed = [(WORDS[0], ARRAYS[0]), *ARRAYS[1:]]
    with pytest.raises(crfkit.DataError, match=r"X\[1\] is an array"):
        FactorialCRF().fit(mixed, PAIRS)
    with pytest.raises(crfkit.DataError, match=r"X\[7\] has words, but the first sequence is an array"):
        FactorialCRF().fit(ARRAYS[:7] + [(WORDS[7], ARRAYS[7])], PAIRS)
