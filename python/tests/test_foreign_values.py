"""Values that other libraries give: masked arrays, paths of all kinds, and numbers and arrays of rare types."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, EmpiricalTagger, FactorialCRF, GraphCRF, GridCRF, SkipChainCRF

X = [["Ada", "sings"], ["dogs", "bark"]] * 3
Y = [["NAME", "O"], ["O", "O"]] * 3


def grids(count=4):
    rng = np.random.default_rng(1)
    masks = [rng.integers(0, 2, size=(5, 6)) for _ in range(count)]
    return [mask + 0.3 * rng.normal(size=mask.shape) for mask in masks], masks


def given_pairs(image):
    return {"nodes": image, "horizontal": np.abs(np.diff(image, axis=1)) * 3, "vertical": np.abs(np.diff(image, axis=0)) * 3}


def test_pairs_of_images_are_those_of_training():
    images, masks = grids()
    fits = {
        "horizontal": GridCRF(passes=5).fit([given_pairs(image) for image in images], masks),
        "compare": GridCRF(passes=5).fit([{"nodes": image, "compare": 2 * image} for image in images], masks),
    }
    for name, grid in fits.items():
        for fitted in (grid, GridCRF.from_model(crfkit.Model.from_bytes(grid.model_.to_bytes()))):
            with pytest.raises(crfkit.DataError, match=rf"^X\[0\]: .*{name}.*has no such arrays"):
                fitted.predict(images)
    with pytest.raises(crfkit.DataError, match="`compare` in training, but it has other ones"):
        fits["compare"].predict([given_pairs(images[0])])
    # Without neighbours there are no pairs.
    GridCRF(neighbours=0).fit([given_pairs(image) for image in images], masks).predict(images)


def test_masked_labels_are_not_known_and_masked_features_are_mistakes():
    images, masks = grids()
    hidden = np.zeros(masks[0].shape, dtype=bool)
    hidden[1, :] = True
    masked = [np.ma.array(mask, mask=hidden) for mask in masks]
    explicit = [np.where(hidden, 9, mask) for mask in masks]
    with pytest.raises(crfkit.DataError, match=r"^y\[0\] has masked labels: set unlabelled"):
        GridCRF().fit(images, masked)
    grid = GridCRF(passes=5, unlabelled=9).fit(images, masked)
    assert grid.model_.to_bytes() == GridCRF(passes=5, unlabelled=9).fit(images, explicit).model_.to_bytes()
    assert grid.score(images, masked) == grid.score(images, explicit)
    with pytest.raises(crfkit.DataError, match=r"^X\[1\] has masked values"):
        grid.predict([images[0], np.ma.array(images[1], mask=hidden)])
    # An array that masks nothing is an array.
    grid.predict([np.ma.array(images[0])])
    with pytest.raises(crfkit.DataError, match=r"^pixel_weight\[0\] has masked values"):
        GridCRF(objective="pseudolikelihood").fit(images, masks, pixel_weight=[np.ma.array(np.ones(h.shape), mask=h) for h in [hidden] * 4])

    nodes, edges = np.arange(6.0).reshape(3, 2), np.array([[0, 1], [1, 2]])
    labels = np.ma.array([1, 2, 3], mask=[False, False, True])
    graph = GraphCRF().fit([(nodes, edges)] * 2, [labels, np.array([1, 2, 1])])
    assert list(graph.classes_) == [1, 2]
    assert graph.score([(nodes, edges)], [labels]) == graph.score([(nodes, edges)], [[1, 2, None]])
    with pytest.raises(crfkit.DataError, match="masked values"):
        graph.predict([(np.ma.array(nodes, mask=nodes > 4), edges)])
    with pytest.raises(crfkit.DataError, match="masked values"):
        graph.predict([(nodes, np.ma.array(edges, mask=edges > 1))])

    words = np.ma.array(["NAME", "O"], mask=[False, True])
    partial = ChainCRF(template="default", partial_labels=True).fit(X, [words, *Y[1:]])
    assert partial.model_.to_bytes() == ChainCRF(template="default", partial_labels=True).fit(X, [["NAME", None], *Y[1:]]).model_.to_bytes()
    assert partial.score(X[:1], [words]) == 1.0
    with pytest.raises(TypeError, match="set partial_labels=True"):
        ChainCRF(template="default").fit(X, [words, *Y[1:]])
    vectors = [np.ma.array(np.ones((2, 3)), mask=np.eye(2, 3)) for _ in X]
    for fit in (lambda: ChainCRF().fit(vectors, Y), lambda: SkipChainCRF().fit([(x, v) for x, v in zip(X, vectors)], Y)):
        with pytest.raises(crfkit.DataError, match=r"^X\[0\] has an array with masked values"):
            fit()
    with pytest.raises(crfkit.DataError, match="sample_weight has masked values"):
        ChainCRF(template="default").fit(X, Y, sample_weight=np.ma.array(np.ones(6), mask=[True] + [False] * 5))


def test_paths_are_text_bytes_or_path_objects(tmp_path):
    crf = ChainCRF(template="default").fit(X, Y)
    for number, kind in enumerate((str, os.fsencode, Path)):
        path = tmp_path / f"model{number}"
        crf.model_.save(kind(path))
        assert crfkit.Model.load(kind(path)).to_bytes() == path.read_bytes()
        kept = tmp_path / f"kept{number}"
        ChainCRF(template="default", passes=2, checkpoint=kind(kept)).fit(X, Y)
    for function in (crfkit.Model.load, crf.model_.save):
        with pytest.raises(TypeError, match=r"3 \(int\) is not a path: give a str, bytes or an os.PathLike"):
            function(3)
    for data in (bytearray(crf.model_.to_bytes()), memoryview(crf.model_.to_bytes())):
        assert crfkit.Model.from_bytes(data).to_bytes() == crf.model_.to_bytes()
    with pytest.raises(TypeError, match=r"data is 'x' \(str\): give the bytes of a model file.*Model.load takes a path"):
        crfkit.Model.from_bytes("x")


def test_settings_are_listed_whole():
    with pytest.raises(crfkit.SettingError, match=r'params has no "limit"; it may have .*memory_limit.*passes.*tolerance'):
        ChainCRF(template="default", params={"limit": 1}).fit(X, Y)
    nodes, edges = np.arange(6.0).reshape(3, 2), np.array([[0, 1], [1, 2]])
    GraphCRF(passes=3, inference="loopy-bp", params={"propagation": {"damping": 0.5}}).fit([(nodes, edges)] * 2, [[1, 2, 1]] * 2)


def test_fields_are_counted_as_the_caller_gives_them():
    pairs = [[(word, "x") for word in x] for x in X]
    skip = SkipChainCRF().fit(X, Y)
    with pytest.raises(crfkit.DataError, match=r"^X\[0\] has tokens of 2 fields, but those of the training data have 1 field$"):
        skip.predict(pairs)
    with pytest.raises(crfkit.DataError, match=r"^X\[1\] has tokens of 1 field, but those of the training data have 2 fields$"):
        SkipChainCRF().fit(pairs, Y).predict([pairs[0], X[0]])
    with pytest.raises(crfkit.DataError, match=r"^X\[1\]\[1\] has 1 field, but X\[1\]\[0\] has 2: give all tokens the same number$"):
        ChainCRF(template="default").fit([X[0], [("a", "b"), ("c",)]], Y[:2])
    with pytest.raises(crfkit.DataError, match=r"^x\[1\] has 2 fields, but x\[0\] has 1: give all tokens the same number$"):
        ChainCRF(template="default").fit(X, Y).tagger_.tag(["a", ("b", "c")])
    for labels in (["A"], ["A", "B", "C"]):
        with pytest.raises(crfkit.DataError, match=rf"^X\[0\] has length 2, but y\[0\] has length {len(labels)}: give one"):
            ChainCRF(template="default").fit([["a", "b"]], [labels])
    with pytest.raises(crfkit.DataError, match=r"^X\[0\]\[0\] has no fields: give every token at least one$"):
        ChainCRF(template="default").fit([[[], []]], Y[:1])
    with pytest.raises(crfkit.DataError, match=r"^X\[1\] has tokens of 2 fields, but those before it have 1 field$"):
        FactorialCRF().fit([X[0], pairs[1]], [[("A", "B")] * 2] * 2)


def test_partial_labels_are_advised_where_they_help():
    missing = [["NAME", None], *Y[1:]]
    with pytest.raises(TypeError, match="set partial_labels=True"):
        ChainCRF(template="default").fit(X, missing)
    crf = ChainCRF(template="default", partial_labels=True, optimizer="lbfgs").fit(X, missing, X_dev=X, y_dev=missing)
    assert crf.history_["dev_score"][-1] == 100.0
    with pytest.raises(TypeError, match=r"^y\[0\]\[1\] is None \(NoneType\): labels are strings, and every token needs one here"):
        EmpiricalTagger().fit(X, missing)
    for ask in (crf.model_.evaluate, crf.model_.calibrate):
        with pytest.raises(TypeError, match=r"^y\[0\]\[1\] is None .*set partial_labels=True"):
            ask(X, missing)
        ask(X, missing, partial_labels=True)


def test_what_has_no_order_is_no_list():
    pandas = pytest.importorskip("pandas")
    rows, table = ChainCRF(template="default").fit(X, Y), pandas.DataFrame({"word": X[0], "upper": [True, False]})
    chain = ChainCRF().fit([[{"w": word} for word in x] for x in X], Y)
    skip, factorial, counts = SkipChainCRF().fit(X, Y), FactorialCRF().fit(X, [[(a, a) for a in y] for y in Y]), EmpiricalTagger().fit(X, Y)
    for estimator in (rows, chain, skip, factorial, counts):
        for wrong in ([{"Ada", "sings"}], [frozenset(X[0])], [table], {("Ada", "sings")}, table):
            with pytest.raises(TypeError, match="give a list|DataFrame"):
                estimator.predict(wrong)
    for token in (table, table.iloc[0]):
        with pytest.raises(TypeError, match=r"(?s)^X\[0\]\[0\] is .*: give a dict, as its to_dict makes one"):
            chain.predict([[token]])
    with pytest.raises(TypeError, match=r"(?s)^X\[0\]\[0\] has .*: with a template, give a word or a list of strings"):
        rows.predict([[{"Ada", "sings"}]])
    for wrong in ({"NAME", "O"}, {"NAME": 1, "O": 2}):
        for estimator in (rows, skip, counts):
            with pytest.raises(TypeError, match=r"^y\[0\] is .*: give a list with a label per token"):
                type(estimator)().fit(X, [wrong, *Y[1:]])
            with pytest.raises(TypeError, match=r"^y\[0\] is .*: give a list with a label per token"):
                estimator.score(X, [wrong, *Y[1:]])
    with pytest.raises(TypeError, match=r"^y\[0\]\[0\] is .*: give a tuple of labels"):
        FactorialCRF().fit(X, [[{"A", "B"}] * 2] * 6)
    with pytest.raises(crfkit.DataError, match="^tokens of y have 1 labels, but those of the training data have 2$"):
        factorial.score(X, [[("A",)] * 2] * 6)
    # What has an order is a list: series of words and labels, whatever their index.
    series = [pandas.Series(x, index=[5, 3]) for x in X]
    assert list(rows.predict(pandas.Series(series, index=range(9, 15)))[0]) == Y[0]
    assert rows.score(X, [pandas.Series(y, index=[5, 3]) for y in Y]) == 1.0


def test_values_of_other_types_are_no_numbers():
    images, masks = grids()
    grid = GridCRF(passes=2).fit(images, masks)
    for values in (np.array([["2020-01-01"] * 3] * 2, dtype="M8[D]"), np.array([["1", "2"]])):
        with pytest.raises(TypeError, match=r"^X\[0\] is not an array of numbers: its values are of type"):
            grid.predict([values])
    with pytest.raises(crfkit.SettingError, match="sigma is too large"):
        ChainCRF(sigma=10**400).fit(X, Y)
    counts = EmpiricalTagger().fit(X, Y)
    with pytest.raises(crfkit.DataError, match=r"^X\[0\] has an array, but this kind of model takes words only"):
        counts.predict([(X[0], np.ones((2, 3)))])


class Names(list):
    pass


def named(k):
    return [f"w{k % 7}", "bias", f"é{k % 3}"]


@pytest.mark.parametrize(
    "form",
    [tuple, Names, iter, lambda names: [names[0].encode(), *names[1:]], lambda names: names if names[0] > "w3" else dict.fromkeys(names, 1.0)],
)
def test_names_mean_the_same_in_lists_of_all_kinds(form):
    """Sequences longer than what is read together, and shorter ones."""
    lists = [[named(k) for k in range(length)] for length in (100, 1, 32, 33)]
    given = [[form(names) for names in x] for x in lists]
    y = [[f"{k % 3}" for k in range(len(x))] for x in lists]
    crf = ChainCRF(passes=5).fit(lists, y)
    assert ChainCRF(passes=5).fit(given, y).model_.to_bytes() == crf.model_.to_bytes()
    expected = crf.tagger_.tag_many(lists)
    for wrap in (list, tuple, iter):
        found = crf.tagger_.tag_many([wrap([form(names) for names in x]) for x in lists])
        assert all(np.array_equal(a.marginals, b.marginals) for a, b in zip(found, expected))


@pytest.mark.parametrize("form", [list, tuple, Names])
@pytest.mark.parametrize("name, error, message", [("", crfkit.DataError, "[40][''] has no name"), (3, TypeError, "[40] has the feature 3 (int)")])
def test_a_wrong_name_is_found_wherever_it_is(form, name, error, message):
    tokens = [form(named(k)) for k in range(50)]
    tagger = ChainCRF(passes=2).fit([tokens], [["A", "B"] * 25]).tagger_
    tokens[40], tokens[45] = form(["right", name, None]), form([None])
    with pytest.raises(error, match=re.escape("x" + message)):
        tagger.tag(tokens)
    with pytest.raises(error, match=re.escape("X[1]" + message)):
        ChainCRF().fit([tokens[:5], tokens], [["A"] * 5, ["B"] * 50])
