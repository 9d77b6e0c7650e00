"""Learning in batches."""

import pickle

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF

WORDS = ["Ada sings", "the cat sleeps", "a dog barks loudly", "Ada sees the dog", "cats see a dog", "the dog sleeps"]
LABELS = ["NAME VERB", "DET NOUN VERB", "DET NOUN VERB ADV", "NAME VERB DET NOUN", "NOUN VERB DET NOUN", "DET NOUN VERB"]
X = [[{"word": word, "end": word[-1]} for word in words.split()] for words in WORDS]
Y = [labels.split() for labels in LABELS]


def test_batches_add_up():
    crf = ChainCRF(sigma=3.0)
    scores = []
    for x, y in zip(X, Y):
        assert crf.partial_fit([x], [y]) is crf
        scores.append(crf.score(X, Y))
    assert scores[-1] == 1.0 and scores[0] < 0.5
    assert list(crf.classes_) == ["ADV", "DET", "NAME", "NOUN", "VERB"]


def test_new_labels_and_features_join_the_old_ones():
    crf = ChainCRF().partial_fit(X[:1], Y[:1])
    assert list(crf.classes_) == ["NAME", "VERB"]
    before = crf.coef_.toarray()[:, crf.feature_names_.index("word:Ada")]
    crf.partial_fit(X[1:3], Y[1:3])
    assert list(crf.classes_) == ["ADV", "DET", "NAME", "NOUN", "VERB"]
    assert {"word:Ada", "word:loudly"} <= set(crf.feature_names_)
    after = crf.coef_.toarray()[:, crf.feature_names_.index("word:Ada")]
    # The second batch says nothing about Ada.
    np.testing.assert_array_equal(after[[2, 4]], before)


def test_classes_name_labels_to_come():
    crf = ChainCRF().partial_fit(X[:1], Y[:1], classes=["ADV", "NAME", "VERB", "ZERO"])
    assert list(crf.classes_) == ["ADV", "NAME", "VERB", "ZERO"]
    assert crf.predict_marginals(X[:1])[0].shape == (2, 4)
    assert list(crf.partial_fit(X[1:2], Y[1:2]).classes_) == ["ADV", "DET", "NAME", "NOUN", "VERB", "ZERO"]


@pytest.mark.parametrize("optimizer", ["auto", "lbfgs", "adagrad", "sgd"])
def test_every_method_goes_on(optimizer):
    crf = ChainCRF(optimizer=optimizer, passes=20)
    for x, y in zip(X, Y):
        crf.partial_fit([x], [y])
    assert crf.score(X, Y) == 1.0


def test_templates():
    crf = ChainCRF(template="pos")
    for words, y in zip(WORDS, Y):
        crf.partial_fit([words.split()], [y])
    assert crf.score([words.split() for words in WORDS], Y) > 0.85
    # A model that was loaded brings its template.
    loaded = ChainCRF()
    loaded.model_ = crf.model_
    loaded.partial_fit([["Bob", "sings"]], [["NAME", "VERB"]])
    assert loaded.predict([["Bob", "sings"], ["the", "cat", "sleeps"]]).tolist() == [["NAME", "VERB"], ["DET", "NOUN", "VERB"]]


def test_it_is_deterministic_and_survives_pickling():
    def trained(threads, pickled):
        crf = ChainCRF(threads=threads)
        for x, y in zip(X, Y):
            crf.partial_fit([x], [y])
            if pickled:
                crf = pickle.loads(pickle.dumps(crf))
        return crf.model_.to_bytes()

    assert trained(1, False) == trained(2, False) == trained(2, True)


def test_a_clone_begins_anew():
    sklearn = pytest.importorskip("sklearn.base")
    crf = ChainCRF(sigma=2.0).partial_fit(X[:1], Y[:1])
    clone = sklearn.clone(crf)
    assert clone.sigma == 2.0 and not hasattr(clone, "model_")
    assert list(clone.partial_fit(X[1:2], Y[1:2]).classes_) == ["DET", "NOUN", "VERB"]


def test_weights_and_passes():
    ones = ChainCRF(passes=2).partial_fit(X, Y)
    assert ones.passes_ <= 2.5
    some = ChainCRF(passes=2).partial_fit(X, Y, sample_weight=[1, 1, 0, 1, 1, 1])
    assert "ADV" in ones.classes_ and "ADV" not in some.classes_


def test_a_small_sigma_holds_on_to_what_was_learned():
    moved = []
    for sigma in (0.1, 10.0):
        crf = ChainCRF().partial_fit(X[:2], Y[:2])
        before = crf.transitions_.copy()
        crf.set_params(sigma=sigma).partial_fit(X[:2], [["VERB", "NAME"], ["VERB", "DET", "NOUN"]])
        moved.append(np.abs(crf.transitions_ - before).max())
    assert moved[0] < 0.1 * moved[1]


def test_warm_start_has_the_labels_of_its_data_alone():
    crf = ChainCRF(warm_start=True).partial_fit(X[:2], Y[:2])
    assert list(crf.fit(X[:1], Y[:1]).classes_) == ["NAME", "VERB"]


@pytest.mark.parametrize(
    "params, message",
    [
        ({"sigma": "auto"}, "sigma is 'auto'"),
        ({"l1": 0.1}, "l1 is 0.1"),
        ({"l1": "auto"}, "l1 is 'auto'"),
        ({"template": "pos"}, "template"),
        ({"passes": 1}, "passes is 1"),
    ],
)
def test_settings_that_cannot_go_on(params, message):
    crf = ChainCRF().fit(X, Y).set_params(**params)
    before = crf.model_
    with pytest.raises(crfkit.SettingError, match=message):
        crf.partial_fit([["a"]] if "template" in params else X[:1], [["NAME"]] if "template" in params else Y[:1])
    assert crf.model_ is before


def test_other_mistakes():
    with pytest.raises(crfkit.DataError, match="X has 6 sequences, but y has 5"):
        ChainCRF().partial_fit(X, Y[:5])
    with pytest.raises(TypeError, match="classes is 'NAME'"):
        ChainCRF().partial_fit(X, Y, classes="NAME")
    with pytest.raises(crfkit.SettingError, match="second order"):
        ChainCRF(params={"order": 2}).partial_fit(X, Y).partial_fit(X, Y)


@pytest.mark.parametrize("params", [{"order": 2}, {"segments": 3}])
def test_a_model_does_not_become_one_of_another_kind(params):
    crf = ChainCRF().partial_fit(X[:1], Y[:1])
    with pytest.raises(crfkit.SettingError, match="leave `order` and `segments` out"):
        crf.set_params(params=params).partial_fit(X[1:2], Y[1:2])
