"""The estimator: what goes in, what comes out, and what scikit-learn expects of it."""

import copy
import json
import pickle
import signal
import threading
import time

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF

TEXT = [
    ("Ada Lovelace wrote to Charles Babbage", "NAME NAME O O NAME NAME"),
    ("the dog barked at Mary Shelley", "O O O O NAME NAME"),
    ("Alan Turing was here", "NAME NAME O O"),
    ("nobody wrote back", "O O O"),
]


def features(words):
    return [
        {"word": word.lower(), "upper": word[0].isupper(), "length": len(word) / 10, "first": t == 0}
        for t, word in enumerate(words)
    ]


X = [features(words.split()) for words, _ in TEXT]
Y = [labels.split() for _, labels in TEXT]
WORDS = [words.split() for words, _ in TEXT]


@pytest.fixture(scope="module")
def crf():
    return ChainCRF().fit(X, Y)


def test_fit_and_predict(crf):
    found = crf.predict(X)
    assert found.dtype == object and found.shape == (4,)
    assert [list(labels) for labels in found] == Y
    assert crf.score(X, Y) == 1.0
    assert list(crf.classes_) == ["NAME", "O"]
    assert crf.stop_reason_ and len(crf.history_["passes"]) == len(crf.history_["objective"]) > 0


def test_predict_is_one_dimensional_when_all_lengths_are_equal(crf):
    assert crf.predict([X[0], X[0]]).shape == (2,)


def test_marginals_are_probabilities(crf):
    for x, marginals in zip(X, crf.predict_marginals(X)):
        assert marginals.shape == (len(x), 2)
        np.testing.assert_allclose(marginals.sum(axis=1), 1.0)


def test_the_weights_explain_the_scores(crf):
    """The log-probability is the sum of the weights minus log Z."""
    x, y = X[0], Y[0]
    weights = dict(zip(crf.feature_names_, np.asarray(crf.coef_.todense()).T))
    number = {label: k for k, label in enumerate(crf.classes_)}
    score = 0.0
    for t, token in enumerate(x):
        k = number[y[t]]
        score += weights[f"word:{token['word']}"][k]
        score += sum(weights[name][k] * float(token[name]) for name in ("upper", "length", "first"))
        if t:
            score += crf.transitions_[number[y[t - 1]], k]
    tagged = crf.tagger_.tag(x)
    assert tagged.log_probability(y) == pytest.approx(score - tagged.log_z)


def test_coef_is_a_csr_matrix(crf):
    sparse = pytest.importorskip("scipy.sparse")
    assert sparse.issparse(crf.coef_) and crf.coef_.format == "csr"
    assert crf.coef_.shape == (2, len(crf.feature_names_))


def test_tagged(crf):
    tagged = crf.tagger_.tag(X[0])
    assert list(tagged) == tagged.labels == Y[0] and tagged == Y[0] and len(tagged) == 6
    assert tagged[0] == "NAME" and tagged[2:4] == ["O", "O"] and tagged[-1] == "NAME"
    best = tagged.nbest(64)
    assert len(best) == 64 and sum(p for _, p in best) == pytest.approx(1.0)
    assert best[0][0] == Y[0]
    assert np.exp(tagged.log_probability()) == pytest.approx(best[0][1])
    alone = [sum(p for labels, p in best if labels[0] == label) for label in crf.classes_]
    np.testing.assert_allclose(tagged.marginals[0], alone)
    with pytest.raises(crfkit.DataError, match="length 6, but y has length 1"):
        tagged.log_probability(["O"])
    with pytest.raises(crfkit.DataError, match="no label \"VERB\""):
        tagged.log_probability(["VERB"] * 6)


def test_an_empty_sequence(crf):
    tagged = crf.tagger_.tag([])
    assert list(tagged) == [] and tagged.marginals.shape == (0, 2) and tagged.log_probability([]) == 0.0
    assert [list(labels) for labels in crf.predict([[], X[0]])] == [[], Y[0]]


def test_tag_many_does_not_depend_on_threads(crf):
    many = X * 50
    one = crf.tagger_.tag_many(many, threads=1)
    for threads in (2, 3, 500):
        assert [t.labels for t in crf.tagger_.tag_many(many, threads=threads)] == [t.labels for t in one]


def test_threads_share_a_tagger(crf):
    wrong = []

    def work():
        for _ in range(200):
            if crf.tagger_.tag(X[0]) != Y[0]:
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert not wrong


def test_the_result_does_not_depend_on_threads():
    one, three = (ChainCRF(threads=threads).fit(X, Y).model_.to_bytes() for threads in (1, 3))
    assert one == three


@pytest.mark.parametrize(
    "token, names",
    [
        ({"a": "b"}, {"a:b": 1.0}),
        ({"a": b"b", b"c": "d"}, {"a:b": 1.0, "c:d": 1.0}),
        ({"a": 2, "b": 0.5, "c": True}, {"a": 2.0, "b": 0.5, "c": 1.0}),
        ({"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True)}, {"a": 0.5, "b": 3.0, "c": 1.0}),
        ({"a": {"b": "c", "d": 2.0}}, {"a:b:c": 1.0, "a:d": 2.0}),
        ({"a": {"b": {"c": 1.5}}}, {"a:b:c": 1.5}),
        ({"a": ["b", "c"]}, {"a:b": 1.0, "a:c": 1.0}),
        ({"a": {"b"}}, {"a:b": 1.0}),
        (["a", "b"], {"a": 1.0, "b": 1.0}),
        (("a=ü", "b:c"), {"a=ü": 1.0, "b:c": 1.0}),
    ],
)
def test_features_as_python_crfsuite_understands_them(token, names):
    """A feature's name is its own; its value shows in the log-probability."""
    crf = ChainCRF(sigma=10.0).fit([[token], [["other"]]], [["A"], ["B"]])
    assert set(crf.feature_names_) == set(names) | {"other"}
    weights = dict(zip(crf.feature_names_, np.asarray(crf.coef_.todense())[0]))
    tagged = crf.tagger_.tag([token])
    expected = sum(weights[name] * value for name, value in names.items())
    assert tagged.log_probability(["A"]) + tagged.log_z == pytest.approx(expected)


@pytest.mark.parametrize(
    "token, message",
    [
        ({"a": None}, r"X\[1\]\[0\]\['a'\] is None \(NoneType\)"),
        ({1: "a"}, r"X\[1\]\[0\] has the key 1 \(int\)"),
        ({"a": {"b": object}}, r"X\[1\]\[0\]\['a:b'\]"),
        ([1], r"X\[1\]\[0\] has the feature 1 \(int\)"),
        ("word", r"X\[1\]\[0\] is a string"),
        (7, r"X\[1\]\[0\] is int"),
    ],
)
def test_wrong_types_name_sequence_token_and_key(token, message):
    with pytest.raises(TypeError, match=message):
        ChainCRF().fit([X[0], [token]], [Y[0], ["O"]])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_values_must_be_finite(value):
    with pytest.raises(crfkit.DataError, match=r"X\[0\]\[1\]\['a'\] is"):
        ChainCRF().fit([[{"b": 1}, {"a": value}]], [["O", "O"]])


def test_data_that_does_not_fit():
    with pytest.raises(crfkit.DataError, match="X has 2 sequences, but y has 1"):
        ChainCRF().fit(X[:2], Y[:1])
    with pytest.raises(crfkit.DataError, match=r"^X\[0\] has length 6, but y\[0\] has length 5: give one"):
        ChainCRF().fit(X[:1], [Y[0][:5]])
    with pytest.raises(TypeError, match=r"^y\[0\]\[0\] is 1 \(int\): labels are strings"):
        ChainCRF().fit([X[0][:1]], [[1]])
    with pytest.raises(crfkit.DataError, match="X is empty"):
        ChainCRF().fit([], [])
    with pytest.raises(ValueError):  # every DataError is one
        ChainCRF().fit([], [])


def test_settings_that_cannot_be_used():
    for params, message in [
        ({"optimizer": "magic"}, "magic"),
        ({"objective": "joy"}, "joy"),
        ({"sigma": -1.0}, "sigma"),
        ({"states": "some"}, "observed or all"),
        ({"params": {"etta": 1}}, "etta"),
        ({"params": {"eta0": 1}, "optimizer": "lbfgs"}, "eta0"),
        ({"template": "no-such-preset"}, "no-such-preset"),
    ]:
        words = WORDS if "template" in params else X
        with pytest.raises(crfkit.SettingError, match=message):
            ChainCRF(**params).fit(words, Y)
    with pytest.raises(crfkit.DivergedError):
        ChainCRF(optimizer="sgd", sigma=None, params={"eta0": 1e300}).fit(X, Y)


def test_templates_make_features_of_words():
    crf = ChainCRF(template="ner").fit(WORDS, Y)
    assert crf.model_.takes == "rows" and [list(labels) for labels in crf.predict(WORDS)] == Y
    rows = [[[word, word[0]] for word in words] for words in WORDS]
    own = ChainCRF(template="U0:%x[0,0]\nU1:%x[0,1]\nB\n").fit(rows, Y)
    assert own.score(rows, Y) == 1.0
    with pytest.raises(TypeError, match="with a template"):
        crf.predict(X)
    with pytest.raises(crfkit.DataError, match="3 fields"):
        own.predict([[["a", "b", "c"]]])


def test_development_data_and_early_stopping():
    crf = ChainCRF(optimizer="sgd", passes=200, patience=8).fit(X, Y, X_dev=X[:2], y_dev=Y[:2])
    assert max(score for score in crf.history_["dev_score"] if score is not None) == 100.0
    assert crf.passes_ < 200 and crf.score(X[:2], Y[:2]) == 1.0


def test_sample_weight():
    x, y = [[{"a": 1}], [{"a": 1}]], [["A"], ["B"]]
    heavy = ChainCRF(sigma=10.0).fit(x, y, sample_weight=[3.0, 1.0]).predict_marginals(x[:1])[0][0, 0]
    assert heavy == pytest.approx(0.75, abs=0.02)
    with pytest.raises(crfkit.DataError, match="not a finite number of at least 0"):
        ChainCRF().fit(x, y, sample_weight=[-1.0, 1.0])
    words = [["a"], ["a"]]
    heavy = ChainCRF(sigma=10.0, template="U:%x[0,0]").fit(words, y, sample_weight=[3.0, 1.0])
    assert heavy.predict_marginals(words[:1])[0][0, 0] == pytest.approx(0.75, abs=0.02)
    alone = ChainCRF(template="U:%x[0,0]").fit(words, y, sample_weight=[1.0, 0.0])
    assert list(alone.classes_) == ["A"]


def test_transitions_apart_from_states():
    x, y = [[{"a": 1}, {"b": 1}]], [["A", "B"]]
    seen = ChainCRF().fit(x, y)
    every = ChainCRF(transitions="all").fit(x, y)
    assert np.count_nonzero(seen.transitions_) == 1 and np.count_nonzero(every.transitions_) > 1
    assert every.coef_.nnz == seen.coef_.nnz == 2


def test_warm_start_needs_fewer_passes():
    crf = ChainCRF(optimizer="lbfgs", warm_start=True).fit(X, Y)
    cold = crf.passes_
    assert crf.fit(X, Y).passes_ < cold


def test_callback_sees_and_stops():
    seen = []
    ChainCRF(optimizer="lbfgs", callback=seen.append).fit(X, Y)
    assert len(seen) > 3 and set(seen[0]) == {"phase", "passes", "objective", "dev_score", "weights"} and {state["phase"] for state in seen} == {"training"}
    stopped = ChainCRF(optimizer="lbfgs", callback=lambda state: False).fit(X, Y)
    assert stopped.stop_reason_ == "interrupted" and stopped.passes_ < seen[-1]["passes"]
    stopped = ChainCRF(optimizer="lbfgs", callback=lambda state: np.False_).fit(X, Y)
    assert stopped.stop_reason_ == "interrupted"
    # Other values are no answer.
    for other in (0, "", np.zeros(2)):
        assert ChainCRF(optimizer="lbfgs", callback=lambda state: other).fit(X, Y).stop_reason_ != "interrupted"

    def fail(state):
        raise RuntimeError("mine")

    crf = ChainCRF(optimizer="lbfgs", callback=fail)
    with pytest.raises(RuntimeError, match="mine"):
        crf.fit(X, Y)
    assert crf.model_.labels == ["NAME", "O"]


def test_ctrl_c_stops_and_keeps_the_model():
    random = np.random.default_rng(1)
    x = [[[f"f{k}" for k in random.integers(0, 500, 20)] for _ in range(20)] for _ in range(400)]
    y = [[f"L{k}" for k in random.integers(0, 30, 20)] for _ in range(400)]
    crf = ChainCRF(optimizer="sgd", passes=1_000_000)
    timer = threading.Timer(1.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        crf.fit(x, y)
    assert time.monotonic() - begin < 30
    assert crf.stop_reason_ == "interrupted" and len(crf.model_.labels) == 30


def test_the_lock_is_released_while_training():
    """Another thread counts on while this one trains."""
    ticks, done = [0], threading.Event()

    def count():
        while not done.wait(0.001):
            ticks[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    begin = ticks[0]
    ChainCRF(optimizer="sgd", passes=20000).fit(X, Y)
    ended = ticks[0]
    done.set()
    counter.join()
    assert ended > begin


def test_pickle_and_copy(crf):
    for other in (pickle.loads(pickle.dumps(crf)), copy.deepcopy(crf), copy.copy(crf)):
        assert [list(labels) for labels in other.predict(X)] == Y
        assert other.get_params() == crf.get_params()
    assert pickle.loads(pickle.dumps(crf.model_)).to_bytes() == crf.model_.to_bytes()


def test_not_fitted():
    for ask in (lambda crf: crf.predict(X), lambda crf: crf.classes_, lambda crf: crf.score(X, Y)):
        with pytest.raises(crfkit.NotFittedError, match="call fit first"):
            ask(ChainCRF())


def test_parameters():
    crf = ChainCRF(sigma=2.0)
    assert crf.get_params()["sigma"] == 2.0 and repr(crf) == "ChainCRF(sigma=2.0)"
    assert crf.set_params(l1=0.5) is crf and crf.l1 == 0.5
    with pytest.raises(crfkit.SettingError, match="no parameter 'c1'"):
        crf.set_params(c1=1)


def test_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    crf = clone(ChainCRF(sigma=3.0))
    assert crf.sigma == 3.0 and not hasattr(crf, "model_")
    search = GridSearchCV(crf, {"sigma": [0.1, np.float64(3.0)]}, cv=KFold(2), n_jobs=1).fit(X, Y)
    assert search.best_params_["sigma"] in (0.1, 3.0) and search.predict(X).shape == (4,)
    assert len(cross_val_score(crf, X, Y, cv=KFold(2), n_jobs=2)) == 2
    assert len(cross_val_predict(crf, X, Y, cv=KFold(2))) == 4
    pipeline = make_pipeline(FunctionTransformer(lambda xs: [features(words) for words in xs]), ChainCRF())
    assert pipeline.fit(WORDS, Y).score(WORDS, Y) == 1.0


def test_penalties_can_be_chosen() -> None:
    X = [[{"w": w, "noise": str((7 * i + k) % 23)} for k, w in enumerate(("a", "b", "c"))] for i in range(40)]
    y = [["A", "B", "C"]] * 40
    crf = crfkit.ChainCRF(sigma="auto", l1="auto").fit(X, y)
    tried = json.loads(crf.model_.settings_json())["tried"]
    assert len(tried) > 2 and sum(one["chosen"] for one in tried) == 1
    assert crf.predict(X[:1])[0] == ["A", "B", "C"]
    with pytest.raises(TypeError, match="sigma is 'many': give a number"):
        crfkit.ChainCRF(sigma="many").fit(X, y)


def dicts(number):
    """Tokens whose keys are the same objects, equal objects, others at the same places, other numbers of them, or nothing but new ones."""
    join = "".join
    for k in range(200):
        word = f"w{k % 7}"
        token = {"word": word, "upper": k % 2 == 0, "bias": 1.0, "size": k % 3, join(["n", "ew"]): word[::-1]}
        if k % 5 == 0:
            token = {"BOS": True, **token}
        if k % 5 == 4:
            token = {key: value for key, value in token.items() if key != "upper"}
        if number == 1:
            token = {f"{key}={value}": 1.0 for key, value in token.items()}
        if number == 2:
            token |= {f"k{i}": "x" for i in range(k, k + 300)}
        if number == 3:
            token |= {b"bytes": b"text", "nested": {"a": "b", "c": [word, "d"]}, "\u00e4": "\u00df", "zero": 0.0, "half": np.float32(0.5)}
        yield token


@pytest.mark.parametrize("number", range(4))
def test_features_do_not_depend_on_the_dicts_before(number):
    """Keys are recognised as objects; that must not change what they mean."""
    tokens = list(dicts(number))
    X = [tokens[start : start + 5] for start in range(0, 200, 5)]
    y = [[f"{(k + t) % 3}" for t in range(5)] for k in range(40)]
    plain = [[[names for names in flat(token)] for token in x] for x in X]
    crf = ChainCRF(passes=5).fit(X, y)
    assert sorted(crf.feature_names_) == sorted({name for x in plain for token in x for name, _ in token})
    same = ChainCRF(passes=5).fit([[dict(token) for token in x] for x in plain], y)
    assert crf.model_.to_bytes() == same.model_.to_bytes()
    tagger = crf.model_.tagger()
    alone = [crf.model_.tagger().tag(x) for x in X]
    for found in ([tagger.tag(x) for x in X], tagger.tag_many(X, threads=1), tagger.tag_many(X * 2, threads=2)[:40]):
        assert all(np.array_equal(a.marginals, b.marginals) for a, b in zip(alone, found))
    others = same.model_.tagger().tag_many([[dict(token) for token in x] for x in plain])
    assert all(np.array_equal(a.marginals, b.marginals) for a, b in zip(alone, others))


def flat(token, prefix=""):
    """The features of a token as python-crfsuite names them."""
    for key, value in token.items():
        name = prefix + (key.decode() if isinstance(key, bytes) else key)
        value = value.decode() if isinstance(value, bytes) else value
        if isinstance(value, str):
            yield f"{name}:{value}", 1.0
        elif isinstance(value, dict):
            yield from flat(value, f"{name}:")
        elif isinstance(value, list):
            yield from ((f"{name}:{item}", 1.0) for item in value)
        else:
            yield name, float(value)


def test_a_tagger_does_not_keep_the_text_of_keys_that_changed():
    X = [[{"a": "1", "b": "2"}], [{"a": "2", "b": "1"}]]
    tagger = ChainCRF(sigma=10.0).fit(X, [["A"], ["B"]]).model_.tagger()
    assert tagger.tag(X[0]).labels == ["A"]
    assert tagger.tag([{"b": "1", "a": "2"}]).labels == ["B"]
    with pytest.raises(TypeError, match=r"x\[0\]\['b'\]"):
        tagger.tag([{"a": "1", "b": object()}])
    with pytest.raises(crfkit.DataError, match="finite"):
        tagger.tag([{"a": "1", "b": float("nan")}])
    with pytest.raises(TypeError, match="key"):
        tagger.tag([{"a": "1", 2: "x"}])
    assert tagger.tag(X[1]).labels == ["B"]
