"""What users get wrong, and what they may expect to work besides."""

import collections.abc
import copy
import io
import pickle
import re
import sys
import types

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, EmpiricalTagger, FactorialCRF, GraphCRF, GridCRF, Model, SkipChainCRF, text

X = [[{"word": "Ada", "upper": True}, {"word": "sings", "length": 2}], [{"word": "dogs"}, {"word": "bark"}]]
Y = [["NAME", "O"], ["O", "O"]]
WORDS = [["Ada", "sings"], ["dogs", "bark"]]


def chain(**params):
    return ChainCRF(progress=False, **params)


@pytest.fixture(scope="module")
def crf():
    return chain(sigma=10.0).fit(X, Y)


@pytest.mark.parametrize(
    "token, error, place",
    [
        ({"a": [None]}, TypeError, "['a'] has the feature None"),
        ({"a": {1: 2}}, TypeError, "['a'] has the key 1"),
        ({"a": {"b": [3]}}, TypeError, "['a:b'] has the feature 3 (int): a feature is a string; for numbers"),
        ({"a": "\ud800"}, crfkit.DataError, "['a'] has '\\ud800' (str), which is not text in UTF-8"),
        ({"\ud800": 1}, crfkit.DataError, " has '\\ud800' (str), which is not text in UTF-8"),
        (["\ud800"], crfkit.DataError, " has '\\ud800' (str), which is not text in UTF-8"),
        ({"a": b"\xff"}, crfkit.DataError, "['a'] has b'\\xff' (bytes), which is not text in UTF-8"),
        ({"a": 10**400}, crfkit.DataError, "['a'] is 1000"),
        ([1.5], TypeError, " has the feature 1.5 (float): a feature is a string; for numbers alone"),
    ],
)
def test_features_that_cannot_be_read_are_named(crf, token, error, place):
    with pytest.raises(error, match=re.escape("X[0][1]" + place)):
        chain().fit([[{"word": "x"}, token]], [["A", "B"]])
    with pytest.raises(error, match=re.escape("x[1]" + place)):
        crf.tagger_.tag([{"word": "x"}, token])
    with pytest.raises(error, match=re.escape("X[1][0]" + place)):
        crf.predict([X[0], [token]])
    with pytest.raises(error, match=re.escape("X_dev[0][0]" + place)):
        chain().fit(X, Y, X_dev=[[token]], y_dev=[["O"]])


def test_labels_that_cannot_be_read_are_named(crf):
    with pytest.raises(crfkit.DataError, match=r"^y\[0\]\[1\] has 'A\\ud800' \(str\), which is not text"):
        chain().fit(X[:1], [["B", "A\ud800"]])
    with pytest.raises(TypeError, match=r"y_dev\[0\]\[1\] is 1 \(int\): labels are strings"):
        chain().fit(X, Y, X_dev=X[:1], y_dev=[["O", 1]])
    with pytest.raises(crfkit.DataError, match=r"^X_dev\[0\] has length 2, but y_dev\[0\] has length 1: give"):
        chain().fit(X, Y, X_dev=X[:1], y_dev=[["O"]])
    with pytest.raises(TypeError, match=r"^X\[0\]\[0\] is a string: give a dict or a list"):
        chain().fit([[b"ab", b"c"]], Y[:1])
    with pytest.raises(TypeError, match=r"y\[1\] is 'OO' \(str\): give a list"):
        chain().fit(X, [["O", "O"], "OO"])
    with pytest.raises(TypeError, match=r"^y\[0\] is None \(NoneType\): labels are strings, and every token needs one here$"):
        crf.tagger_.tag(X[0]).log_probability([None, "O"])
    pairs = [[("N", "A"), ("V", "O")], [("N", "O"), ("V", "O")]]
    with pytest.raises(TypeError, match=r"y\[0\]\[0\] is None"):
        FactorialCRF().fit(WORDS, [[None, ("V", "O")], pairs[1]])
    with pytest.raises(crfkit.DataError, match=r"^X_dev\[1\] has length 2, but y_dev\[1\] has length 1: give"):
        FactorialCRF().fit(WORDS, pairs, X_dev=WORDS, y_dev=[pairs[0], pairs[1][:1]])


@pytest.mark.parametrize("x", [None, 5, "abc", {"a": [{}]}])
def test_what_is_no_list_of_sequences_is_said(crf, x):
    for call in (crf.predict, crf.predict_marginals, crf.tagger_.tag_many, crf.tagger_.label_lists):
        with pytest.raises(TypeError, match="^X is .*: give a list of sequences"):
            call(x)


def test_data_without_tokens():
    for call in (chain().fit, EmpiricalTagger().fit, chain().fit(X, Y).model_.evaluate):
        with pytest.raises(crfkit.DataError, match="X has no token"):
            call([[]], [[]])
    with pytest.raises(crfkit.DataError, match="X has no token"):
        FactorialCRF().fit([[]], [[]])
    for images, labels in (([np.zeros((0, 0))], [np.zeros((0, 0), int)]), ([np.eye(2)], [np.full((2, 2), 9)])):
        with pytest.raises(crfkit.DataError, match="y has no label"):
            GridCRF(unlabelled=9).fit(images, labels)


@pytest.mark.parametrize(
    "params, error, message",
    [
        ({"l1": None}, TypeError, "l1 is None: give a number"),
        ({"l1": float("inf")}, crfkit.SettingError, "l1 is inf: give a finite number"),
        ({"min_count": -1}, crfkit.SettingError, "min_count is -1: give a whole number of at least 0"),
        ({"passes": 1.5}, crfkit.SettingError, "passes is 1.5: give a whole number of at least 0"),
        ({"passes": True}, crfkit.SettingError, "passes is True: give a whole number"),
        ({"seed": None}, crfkit.SettingError, "seed is None: give a whole number"),
        ({"patience": "3"}, crfkit.SettingError, 'patience is "3": give a whole number'),
        ({"optimizer": "nope"}, crfkit.SettingError, 'optimizer is "nope": choose one of auto, lbfgs'),
        ({"objective": None}, crfkit.SettingError, "objective is None: give a string"),
        ({"params": {"eta0": "x"}}, crfkit.SettingError, 'eta0 is "x": give a number'),
        ({"params": {"eta0": float("nan")}}, crfkit.SettingError, "params has nan for 'eta0': give a finite number"),
        ({"params": []}, TypeError, "params is []: give a dict of settings"),
        ({"callback": 5}, TypeError, "callback is 5: give a function"),
        ({"class_weight": {"O": "x"}}, TypeError, "class_weight is {'O': 'x'}: give a dict from labels to numbers"),
        ({"threads": -1}, crfkit.SettingError, "threads is -1: give a whole number of at least 1, or None"),
        ({"threads": 1.5}, crfkit.SettingError, "threads is 1.5: give a whole number of at least 1, or None"),
    ],
)
def test_settings_are_named_in_python(params, error, message):
    with pytest.raises(error, match=re.escape(message)):
        chain(**params).fit(X, Y)


@pytest.mark.parametrize(
    "params, message",
    [
        ({"method": "x"}, 'method is "x": choose ep1 or ep2'),
        ({"min_count": "a"}, 'min_count is "a": give a whole number'),
        ({"smoothing": None}, "smoothing is None: give a number"),
    ],
)
def test_settings_of_counts_are_named(params, message):
    with pytest.raises((TypeError, crfkit.SettingError), match=re.escape(message)):
        EmpiricalTagger(**params).fit(WORDS, Y)


def test_weights_are_named(crf):
    for weights in (["a", 1], 5, [[1], [2]]):
        with pytest.raises(TypeError, match="sample_weight is .*: give a list of numbers"):
            chain().fit(X, Y, sample_weight=weights)
    with pytest.raises(TypeError, match=r"token_weight\[0\] is 1: give a list of numbers"):
        chain(objective="marginal").fit(X, Y, token_weight=[1, 1])
    with pytest.raises(crfkit.DataError, match="X has 2 sequences, but sample_weight has length 1"):
        crf.score(X, Y, sample_weight=[1.0])


def test_scores_of_images_and_graphs_have_weights():
    images, labels = [np.eye(3), 1 - np.eye(3)], [np.eye(3, dtype=int), np.eye(3, dtype=int)]
    grid = GridCRF(passes=20).fit(images[:1], labels[:1])
    one, two = (grid.score(images[k : k + 1], labels[k : k + 1]) for k in (0, 1))
    assert grid.score(images, labels, sample_weight=[3.0, 1.0]) == pytest.approx((3 * one + two) / 4)
    graphs = [(np.eye(2), [[0, 1]]), (np.eye(2)[::-1].copy(), [[0, 1]])]
    graph = GraphCRF(inference="exact").fit(graphs, [["a", "b"], ["b", "a"]])
    assert graph.score(graphs, [["a", "b"], ["a", "a"]], sample_weight=[2.0, 1.0]) == pytest.approx(5 / 6)


def test_labels_of_graphs():
    graph = (np.eye(2), [[0, 1]])
    for labels in ([1, "a"], [(1, 2), (1, 3)]):
        with pytest.raises(TypeError, match="give all strings, or all numbers"):
            GraphCRF().fit([graph], [labels])
    typed = {"nodes": {"p": np.eye(2), "f": np.ones((1, 1))}, "factors": {"likes": np.array([[0, 0], [1, 0]])}}
    with pytest.raises(crfkit.DataError, match=r"y\[0\] has labels of type 'q', but its graph has no nodes of this type"):
        GraphCRF(factors={"likes": ["p", "f"]}).fit([typed], [{"p": ["a", "b"], "f": ["x"], "q": ["z"]}])


def test_files_that_are_not_there(crf, tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        Model.load(tmp_path / "none")
    assert missing.value.errno == 2 and "os error" not in str(missing.value)
    with pytest.raises(FileNotFoundError):
        crf.model_.save(tmp_path / "none" / "model")
    assert Model.from_bytes(bytearray(crf.model_.to_bytes())).labels == ["NAME", "O"]


def test_places_count_from_0(crf):
    with pytest.raises(crfkit.DataError, match=r"^X\[0\]\[1\] has 1 field, but X\[0\]\[0\] has 2: give all"):
        EmpiricalTagger().fit([[["a", "b"], ["c"]]], [["N", "V"]])
    arrays = chain().fit([np.eye(2)], [["a", "b"]])
    with pytest.raises(crfkit.DataError, match=r"^X\[0\]: vectors of 3 numbers"):
        arrays.predict([np.zeros((2, 3))])


def test_taggers_can_be_pickled_and_copied(crf):
    tagger = crf.model_.tagger(constraint="forbid O end", at_most_once=["NAME"])
    again = pickle.loads(pickle.dumps(tagger))
    assert again.tag(X[0]).labels == tagger.tag(X[0]).labels == ["O", "NAME"]
    assert copy.deepcopy(tagger) is tagger and copy.copy(tagger) is tagger
    assert repr(tagger) == "<crfkit.Tagger: chain, 2 labels>"


def test_a_labelled_sequence_is_a_sequence(crf):
    tagged = crf.tagger_.tag(X[0])
    assert isinstance(tagged, collections.abc.Sequence)
    assert tagged.index("O") == 1 and tagged.count("O") == 1 and list(reversed(tagged)) == ["O", "NAME"]
    with pytest.raises(ValueError):
        tagged.index("O", 0, 1)
    assert copy.deepcopy(tagged) == tagged
    with pytest.raises(ValueError, match="n is -1"):
        tagged.nbest(-1)
    for tokens in (-1, "a", [0.5]):
        with pytest.raises(TypeError, match="tokens is .*: give the number of a token"):
            crf.tagger_.explain(X[0], tokens)


def test_estimators_with_arrays_as_parameters_have_a_repr():
    assert "sigma=array([1, 2])" in repr(ChainCRF(sigma=np.array([1, 2])))


def test_running_text():
    labels = [["B-QTY", "B-UNIT", "O"], ["B-QTY", "B-NAME", "O"], ["O", "B-NAME", "I-NAME"]]
    tagger = chain(template="default", sigma=10.0).fit([["2", "cups", ","], ["3", "eggs", "."], ["Add", "brown", "sugar"]], labels).tagger_
    recipe = "2 cups, 3 eggs.\n\nAdd brown sugar"
    found = tagger.tag_text(recipe)
    assert [(recipe[a:b], label) for a, b, label, _ in found][-1] == ("brown sugar", "NAME")
    assert all(0 < span.probability <= 1 for span in found)
    # Places count characters, not bytes.
    assert [span[:2] for span in tagger.tag_text("😀 2 cups")][-2:] == [(2, 3), (4, 8)]
    one = "Add brown sugar. 2 cups"
    assert [one[a:b] for a, b in text.sentences(one)] == ["Add brown sugar.", "2 cups"]
    by_sentence = tagger.tag_text(one, sentences=True)
    assert [(one[a:b], label) for a, b, label, _ in by_sentence][-1] == ("cups", "UNIT")
    assert tagger.tag_text("") == [] and tagger.tag_text("\n \n") == []
    with pytest.raises(crfkit.SettingError, match="trained on features"):
        chain().fit(X, Y).tagger_.tag_text("a b")


def test_weights_can_be_edited(crf):
    model = crf.model_
    weights = model.weights()
    assert ("transition", None, ["O", "O"]) in [weight[:3] for weight in weights]
    assert [weight for weight in model.edited(weights, only=True).weights()] == weights
    assert model.tagger().tag(X[0]).labels == ["NAME", "O"]
    edited = model.edited([("node", "word:Ada", ["NAME"], "forbid")])
    assert edited.tagger().tag(X[0]).labels == ["O", "O"]
    assert model.edited([("node", "word:Ada", ["NAME"], 0)]).weights() != weights
    with pytest.raises(crfkit.DataError, match=r"changes\[0\]: .*word:nobody"):
        model.edited([("node", "word:nobody", ["NAME"], 1.0)])
    for weight in ("x", float("nan")):
        with pytest.raises(crfkit.DataError, match=r"changes\[0\] has no weight"):
            model.edited([("node", "word:Ada", ["NAME"], weight)])
    arrays = chain().fit([np.eye(2)], [["a", "b"]]).model_
    assert arrays.edited([("node", "vector[0]", ["a"], 5.0)]).coefficients()[3].max() == 5.0


def nested(depth):
    features = {"x": 1}
    for _ in range(depth):
        features = {"a": features}
    return features


def test_features_that_are_nested_without_end():
    assert ChainCRF().fit([[nested(99), {}]], [["A", "B"]]).feature_names_[0].count(":") >= 50
    itself = {}
    itself["a"] = itself
    tagger = ChainCRF().fit(X, Y).tagger_
    for token in (nested(100_000), itself):
        for use in (lambda: ChainCRF().fit([[token, {}]], [["A", "B"]]), lambda: tagger.tag([token]), lambda: tagger.tag_many([[token]])):
            with pytest.raises(crfkit.DataError, match=r"\[0\] has features that are nested more than 100 deep"):
                use()


def test_numbers_of_threads():
    for threads in (0, -1, 1.5, "2", True, -(10**30)):
        for use in (
            lambda: ChainCRF(threads=threads).fit(X, Y),
            lambda: ChainCRF().fit(X, Y).tagger_.tag_many(X, threads=threads),
            lambda: ChainCRF().fit(X, Y).tagger_.tag_stream(X, threads=threads),
            lambda: ChainCRF().fit(X, Y).set_params(threads=threads).predict(X),
        ):
            with pytest.raises(crfkit.SettingError, match="threads is .*: give a whole number of at least 1, or None"):
                use()
    for threads in (1, np.int64(2), 5000, 10**30):
        assert ChainCRF(threads=threads).fit(X, Y).model_.to_bytes() == ChainCRF().fit(X, Y).model_.to_bytes()
        assert len(ChainCRF().fit(X, Y).tagger_.tag_many(X * 100, threads=threads)) == 100 * len(X)


def test_the_first_mistake_is_told():
    """Also if it is found only when the sequence is labelled, and there is another one behind it that is found when it is read."""
    tagger = ChainCRF().fit(X, Y).tagger_
    vectors = np.zeros((1, 2))
    with pytest.raises(crfkit.DataError, match=r"X\[1\]"):
        tagger.tag_many([X[0], vectors, *X * 100, None], threads=2)
    with pytest.raises(TypeError, match=r"X\[1\]"):
        tagger.tag_many([X[0], None, *X * 100, vectors], threads=2)


def test_models_that_label_no_plain_sequences():
    words = [["Ada", "sings"]]
    model = crfkit.SkipChainCRF().fit(words, [["A", "B"]]).model_
    with pytest.raises(crfkit.SettingError, match="use the score of its estimator"):
        model.evaluate(words, [["A", "B"]])


class Changing:
    """A number that changes the dict that it stands in."""

    def __init__(self, features):
        self.features = features

    def __float__(self):
        self.features[str(len(self.features))] = 1.0
        return 2.0


def test_a_dict_that_changes_while_it_is_read():
    def features():
        outer, inner = {}, {}
        outer.update(a=Changing(outer), b="x", inner=inner, c=1)
        inner.update(a=Changing(inner), b=True)
        return outer

    found = chain().fit([[features(), {}]], [["A", "B"]])
    assert sorted(found.feature_names_) == ["a", "b:x", "c", "inner:a", "inner:b"]
    assert found.tagger_.tag([features(), {}]) == ["A", "B"]


def test_an_estimator_with_parameters_of_its_own():
    class Own(ChainCRF):
        def __init__(self, *, sigma=2.0, words=3):
            super().__init__(sigma=sigma, passes=20)
            self.words = words

    own = Own(words=5)
    assert own.get_params() == {"sigma": 2.0, "words": 5}
    assert repr(own) == "Own(words=5)"
    assert own.set_params(sigma=1.0).fit(X, Y).passes_ <= 20
    assert list(copy.deepcopy(own).predict(X)) == Y


def test_an_estimator_that_passes_keywords_on():
    class Own(ChainCRF):
        def __init__(self, words=3, **given):
            super().__init__(**given)
            self.words = words

    own = Own(passes=20)
    assert own.get_params()["passes"] == 20 and own.get_params()["words"] == 3 and "given" not in own.get_params()
    assert repr(own.set_params(sigma=2.0)) == "Own(passes=20, sigma=2.0)"


def test_nodes_of_a_graph_that_are_no_dict():
    for nodes in (np.zeros((2, 1)), None, 3):
        with pytest.raises(TypeError, match=r"X\[0\]\['nodes'\] is .*: give a dict"):
            GraphCRF().fit([{"nodes": nodes}], [["a", "b"]])


def test_settings_of_a_wrong_type(tmp_path):
    for params in ({"template": 3}, {"constraint": ["a"]}, {"progress": "always"}, {"progress": None}, {"progress": 2}, {"progress": np.zeros(2)}):
        [(name, value)] = params.items()
        with pytest.raises(TypeError, match=re.escape(f"{name} is {value!r}: give")):
            ChainCRF(**params).fit(X, Y)
    with pytest.raises(TypeError, match="template is 3: give a string"):
        crfkit.SkipChainCRF(template=3).fit(WORDS, Y)


def test_a_path_that_is_empty(crf):
    for use in (lambda: crf.model_.save(""), lambda: chain(checkpoint="").fit(X, Y), lambda: Model.load("")):
        with pytest.raises(FileNotFoundError):
            use()


class Shell:
    """What IPython's ``get_ipython`` returns: in a notebook, it has a kernel."""

    def __init__(self, kernel):
        self.kernel = kernel


@pytest.mark.parametrize("kernel, terminal, bars", [(None, False, 0), (None, True, 1), ("one", False, 1)])
def test_a_bar_is_shown_where_it_is_seen(kernel, terminal, bars, monkeypatch):
    made = []

    class Output(io.StringIO):
        def isatty(self):
            return terminal

    ipython, tqdm, auto = (types.ModuleType(name) for name in ("IPython", "tqdm", "tqdm.auto"))
    ipython.get_ipython = lambda: Shell(kernel)
    auto.tqdm = lambda **_: made.append(True)
    for module in (ipython, tqdm, auto):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(sys, "stderr", Output())
    ChainCRF(passes=3).fit(X, Y)
    assert len(made) == bars


def test_a_program_without_standard_error_is_silent(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert ChainCRF(passes=3).fit(X, Y).passes_ > 0


@pytest.mark.parametrize("progress, bars", [(0, 0), (False, 0), (np.False_, 0), (1, 1), (True, 1), (np.True_, 1), ("auto", 0)])
def test_progress_may_be_a_number(progress, bars, monkeypatch):
    made = []

    class Bar:
        def __init__(self, **_):
            made.append(self)

        def set_postfix(self, _):
            pass

        def close(self):
            pass

    module = types.ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    ChainCRF(progress=progress, passes=3).fit(X, Y)
    assert len(made) == bars


def test_models_of_another_kind_are_rejected():
    labels = [["A", "B"], ["B", "A"]]
    image, edges = np.eye(2), [[0, 1]]
    fitted = [
        chain().fit(X, Y),
        EmpiricalTagger().fit(WORDS, labels),
        SkipChainCRF().fit(WORDS, labels),
        FactorialCRF().fit(WORDS, [[(label, label) for label in y] for y in labels]),
        GridCRF(passes=2).fit([image], [image.astype(int)]),
        GraphCRF(passes=2).fit([(image, edges)], [["a", "b"]]),
    ]
    for one in fitted:
        for other in fitted:
            if one is other:
                assert type(one).from_model(one.model_).model_ is one.model_
                continue
            with pytest.raises(crfkit.SettingError, match="kind|models of"):
                type(one).from_model(other.model_)
        for wrong in (None, "model", one):
            with pytest.raises(TypeError, match="model is .*: give a Model"):
                type(one).from_model(wrong)
    with pytest.raises(crfkit.SettingError, match="FactorialCRF takes models of factorial chains, but this one is of skip chains: use SkipChainCRF"):
        FactorialCRF.from_model(fitted[2].model_)


def test_labels_of_scores_are_those_of_fit(crf):
    with pytest.raises(TypeError, match=r"y\[1\] is 'OO': give a list with a label per token"):
        crf.score(X, [["NAME", "O"], "OO"])
    with pytest.raises(TypeError, match=r"y\[0\]\[1\] is 1 \(int\): labels are strings"):
        crf.score(X, [["NAME", 1], ["O", "O"]])
    assert crf.score(X, [[b"NAME", b"O"], ["O", "O"]]) == 1.0
    pairs = FactorialCRF(passes=2).fit(WORDS, [[("N", "A"), ("V", "O")], [("N", "O"), ("V", "O")]])
    with pytest.raises(TypeError, match=r"y\[0\]\[0\] is 1: give a tuple"):
        pairs.score(WORDS, [[1, 2], [3, 4]])
    with pytest.raises(TypeError, match=r"y\[0\] is None: give a list with a tuple"):
        FactorialCRF().fit(WORDS, [None, None])
    with pytest.raises(TypeError, match=r"X\[0\] is None"):
        EmpiricalTagger().fit([None], [["A"]])


def test_weights_that_cannot_be_are_named(crf):
    for weights in ([1.0, -1.0], [1.0, np.nan], [1.0, np.inf]):
        for call in (crf.score, chain().fit):
            with pytest.raises(crfkit.DataError, match=r"sample_weight\[1\] is .* not a finite number of at least 0"):
                call(X, Y, sample_weight=weights)
    with pytest.raises(TypeError, match="sample_weight is '12': give a list of numbers"):
        chain().fit(X, Y, sample_weight="12")
    for weights, place in ((5, "pixel_weight is int"), (["ab"], r"pixel_weight\[0\] is not an array")):
        with pytest.raises(TypeError, match=place):
            GridCRF(objective="marginal").fit([np.eye(2)], [np.eye(2, dtype=int)], pixel_weight=weights)
    graph = (np.eye(2), [[0, 1]])
    for weights, place in ((5, "node_weight is int"), ([["a", 1]], r"node_weight\[0\] is \['a', 1\]")):
        with pytest.raises(TypeError, match=place):
            GraphCRF(objective="marginal").fit([graph], [["a", "b"]], node_weight=weights)


def test_classes_still_to_come_are_strings():
    for classes, place in (([1], r"classes\[0\] is 1"), (["A", ""], r"classes\[1\] is ''"), ([None], r"classes\[0\] is None"), (5, "classes is 5")):
        with pytest.raises(TypeError, match=place):
            chain().partial_fit(X, Y, classes=classes)


def test_graphs_of_an_iterator_are_all_labelled():
    graphs = [(np.eye(2), [[0, 1]]), (np.eye(2), [])]
    crf = GraphCRF(inference="exact", passes=3).fit(graphs, [["a", "b"], ["b", "a"]])
    assert len(crf.predict(graph for graph in graphs)) == len(crf.predict_marginals(iter(graphs))) == 2
    for wrong in (None, "ab", {"nodes": {}}):
        with pytest.raises(TypeError, match="X is .*: give a list of graphs"):
            crf.predict(wrong)


def test_settings_of_graphs_are_named():
    graph = (np.eye(2), [[0, 1]])
    for params in ({"factors": 5}, {"table": 5}):
        with pytest.raises(TypeError, match=f"{next(iter(params))} is 5: give"):
            GraphCRF(**params).fit([graph], [["a", "b"]])


def test_labels_that_are_no_number():
    graph = (np.eye(3), [[0, 1]])
    with pytest.raises(crfkit.DataError, match="have the label nan: give None"):
        GraphCRF().fit([graph], [[np.nan, 1.0, 2.0]])
    crf = GraphCRF(unlabelled=np.nan, passes=3).fit([graph], [[np.nan, 1.0, 2.0]])
    assert list(crf.classes_) == [1.0, 2.0] and crf.score([graph], [[float("nan"), 1.0, 2.0]]) == 1.0


def test_complex_numbers_are_no_numbers():
    image = np.eye(2) * 1j
    for call in (
        lambda: GridCRF().fit([image], [np.eye(2, dtype=int)]),
        lambda: GraphCRF().fit([(image, [[0, 1]])], [["a", "b"]]),
        lambda: crfkit.Objective.chain(X, Y).value_and_grad(np.zeros(3) * 1j),
    ):
        with pytest.raises(TypeError, match="is not an array of numbers: its numbers are complex"):
            call()


def test_too_many_labels_are_named_without_files():
    with pytest.raises(crfkit.SettingError, match="9000 different labels.*: are they labels, or words[?]$"):
        chain().fit([[["a"]] * 9000], [[f"w{k}" for k in range(9000)]])
    with pytest.raises(crfkit.SettingError, match="9000 different labels.*: are they labels, or words[?]$"):
        chain(template="default").fit([["a"] * 9000], [[f"w{k}" for k in range(9000)]])
