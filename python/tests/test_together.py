"""Several models that label together, labelled sequences that are pickled, and sequences that come one after the other."""

import copy
import itertools
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, EmpiricalTagger, Tagger

X = [[{"word": "Ada", "upper": True}, {"word": "sings"}], [{"word": "dogs"}, {"word": "bark", "loud": 0.5}]]
Y = [["NAME", "VERB"], ["NOUN", "VERB"]]
WORDS = [["Ada", "sings"], ["dogs", "bark"]]


def models(count=3):
    return [ChainCRF(sigma=0.3 * (k + 1)).fit(X, Y).model_ for k in range(count)]


def test_an_ensemble_has_the_mean_of_the_marginals():
    several = models()
    tagger = Tagger(several)
    assert [model.to_bytes() for model in tagger.models] == [model.to_bytes() for model in several]
    for x in X:
        mean = np.mean([model.tagger().tag(x).marginals for model in several], axis=0)
        assert np.allclose(tagger.tag(x).marginals, mean, atol=1e-12)
    assert [list(tagged) for tagged in tagger.tag_many(X * 50, threads=2)] == Y * 50
    assert [list(tagged) for tagged in pickle.loads(pickle.dumps(tagger)).tag_many(X)] == Y
    one = Tagger([several[0]])
    assert np.array_equal(one.tag(X[0]).marginals, several[0].tagger().tag(X[0]).marginals)
    allowed = tagger.tag(X[0], allowed={1: "NOUN"})
    assert allowed.labels[1] == "NOUN" and allowed.marginals[1].max() == pytest.approx(1.0)
    assert Tagger(several, constraint="forbid VERB end").tag(X[0]).labels[1] != "VERB"


def opposites():
    """Two models that contradict each other, with different certainty, and sequences on which the second is more certain."""
    weak = ChainCRF(sigma=0.3).fit([[{"a": 1}, {"b": 1}]] * 2, [["B-X", "O"]] * 2).model_
    strong = ChainCRF(sigma=5.0).fit([[{"a": 1}, {"b": 1}]] * 2, [["O", "B-X"]] * 2).model_
    assert weak.labels == strong.labels == ["B-X", "O"]
    return [weak, strong], [{"a": 1}, {"b": 1}, {}]


def test_an_ensemble_labels_by_the_mean_and_not_by_the_first_model():
    several, x = opposites()
    for order in (several, several[::-1]):
        tagged = Tagger(order).tag(x)
        best = [tagged.marginals[t].argmax() for t in range(3)]
        assert tagged.labels == [["B-X", "O"][label] for label in best]
        assert tagged.labels[:2] == ["O", "B-X"]
        assert [found.labels for found in Tagger(order).tag_many([x] * 40, threads=2)] == [tagged.labels] * 40


def test_what_several_models_answer_is_the_mean_of_each():
    several, x = opposites()
    allowed = {1: ["O"], 2: ["B-X", "O"]}
    for rules in (None, "forbid begin O"):
        for given in (None, allowed):
            tagger = Tagger(several, constraint=rules)
            tagged = tagger.tag(x, allowed=given)
            alone = [model.tagger(constraint=rules).tag(x, allowed=given) for model in several]
            assert np.allclose(tagged.marginals, np.mean([one.marginals for one in alone], axis=0), atol=1e-12)
            assert np.allclose(tagged.pair_marginals, np.mean([one.pair_marginals for one in alone], axis=0), atol=1e-12)
            # Every chunk has one token here.
            for span in tagged.spans:
                assert span.probability == pytest.approx(tagged.marginals[span.start, 0], abs=1e-12)
            assert "probability" in tagged._repr_html_() or not tagged.spans
            assert pickle.loads(pickle.dumps(tagged)).spans == tagged.spans


def test_several_models_have_no_probability_of_whole_labellings():
    several, x = opposites()
    tagged = Tagger(several).tag(x)
    questions = [
        lambda: tagged.log_z,
        lambda: tagged.entropy,
        lambda: tagged.margin,
        lambda: tagged.log_probability(),
        lambda: tagged.nbest(2),
        lambda: Tagger(several, at_most_once=["X"]),
        lambda: Tagger(several).explain(x),
    ]
    for question in questions:
        with pytest.raises(crfkit.SettingError, match="several models"):
            question()


def test_models_of_words_label_together():
    chain = ChainCRF(template="default").fit(WORDS, Y).model_
    counts = EmpiricalTagger().fit(WORDS, Y).model_
    mean = np.mean([model.tagger().tag(WORDS[0]).marginals for model in (chain, counts)], axis=0)
    assert np.allclose(Tagger([chain, counts]).tag(WORDS[0]).marginals, mean, atol=1e-12)


def test_models_that_cannot_label_together():
    [model] = models(1)
    with pytest.raises(crfkit.SettingError, match="same labels"):
        Tagger([model, ChainCRF().fit(X, [["A", "B"]] * 2).model_])
    with pytest.raises(crfkit.SettingError, match="features"):
        Tagger([model, ChainCRF(template="default").fit(WORDS, Y).model_])
    with pytest.raises(crfkit.SettingError, match="at least one"):
        Tagger([])
    for wrong in (None, [model, "a"], "model"):
        with pytest.raises(TypeError, match="give a Model"):
            Tagger(wrong)


def taggers():
    numbers = [np.array([[0.1], [0.9]]), np.array([[0.2], [0.7]])]
    both = list(zip(X, numbers))
    yield models(1)[0].tagger(), X
    yield Tagger(models(2)), X
    yield models(1)[0].tagger(constraint="forbid begin NAME"), X
    yield ChainCRF(template="default").fit(WORDS, Y).tagger_, WORDS
    yield ChainCRF().fit(numbers, Y).tagger_, numbers
    yield ChainCRF().fit(both, Y).tagger_, both
    yield ChainCRF(template="default").fit(list(zip(WORDS, numbers)), Y).tagger_, list(zip(WORDS, numbers))
    yield EmpiricalTagger().fit(WORDS, Y).tagger_, WORDS


@pytest.mark.parametrize("number", range(8))
def test_a_labelled_sequence_pickles(number):
    tagger, xs = next(itertools.islice(taggers(), number, None))
    for tagged in [*tagger.tag_many(xs), tagger.tag([]), tagger.tag(xs[0], allowed={0: ["NAME", "NOUN"]})]:
        again = pickle.loads(pickle.dumps(tagged))
        assert list(again) == list(tagged) and again == tagged
        assert np.array_equal(again.marginals, tagged.marginals)
        assert len(tagger.models) > 1 or again.nbest(2) == tagged.nbest(2)
        assert again.words == tagged.words
        assert copy.deepcopy(tagged) is tagged


def test_pickled_sequences_of_one_tagger_share_it():
    tagger = models(1)[0].tagger()
    one, many = (len(pickle.dumps(tagger.tag_many(X * count))) for count in (1, 100))
    model = len(tagger.model.to_bytes())
    assert one > model
    assert many < model + 100 * 2 * (one - model)


def test_a_stored_sequence_that_does_not_fit_is_an_error():
    tagged = models(1)[0].tagger().tag(X[0])
    make, (tagger, stored, labels) = tagged.__reduce__()
    assert make(tagger, stored, labels) == tagged
    (hashes, values, ends), *rest = stored
    wrong = [
        (stored, labels[:1]),
        (stored, [0, 99]),
        (((hashes, values, [1, 99]), *rest), labels),
        (((hashes, values, ends[::-1]), *rest), labels),
        (((hashes, [1.0], ends), *rest), labels),
        ((None, *rest), labels),
        (((hashes, values, ends), *rest[:3], [(5, [0])]), labels),
        (((hashes, values, ends), *rest[:3], [(0, [9])]), labels),
        (((hashes, values, ends), *rest[:2], (2, [1.0]), []), labels),
    ]
    for state, of in wrong:
        with pytest.raises(crfkit.CrfkitError):
            make(tagger, state, of)


def test_a_stream_is_labelled_as_it_comes():
    tagger = models(1)[0].tagger()
    taken = []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield X[number % 2]

    stream = tagger.tag_stream(endless())
    assert taken == []
    for count in range(1, 300):
        assert list(next(stream)) == Y[(count - 1) % 2] and len(taken) == count
    taken.clear()
    stream = tagger.tag_stream(endless(), batch=100, threads=2)
    assert [list(tagged) for tagged in itertools.islice(stream, 301)] == [Y[k % 2] for k in range(301)]
    assert len(taken) == 400
    assert [list(tagged) for tagged in tagger.tag_stream(X * 1000, threads=2)] == Y * 1000
    assert list(tagger.tag_stream(iter(()))) == []


def test_an_answer_does_not_wait_for_the_next_sequence():
    """As in a dialogue: the next sequence comes only when the last one is answered."""
    tagger, answers = models(1)[0].tagger(), []

    def dialogue():
        for number in range(20):
            assert len(answers) == number
            yield X[number % 2]

    for tagged in tagger.tag_stream(dialogue()):
        answers.append(list(tagged))
    assert answers == Y * 10


def test_sequences_of_a_stream_are_read_once():
    """A sequence may be an iterator: those before a mistake must not be read a second time, when nothing is left of them."""
    tagger = models(1)[0].tagger()
    for batch in (None, 1, 2, 100):
        stream = tagger.tag_stream([iter(X[0]), iter(X[1]), iter([5]), iter(X[0])], batch=batch)
        assert list(next(stream)) == Y[0] and list(next(stream)) == Y[1]
        with pytest.raises(TypeError, match=r"X\[2\]\[0\] is int"):
            next(stream)


def test_mistakes_in_a_stream_have_the_number_of_their_sequence():
    tagger = models(1)[0].tagger()
    for batch in (None, 1, 7):
        stream = tagger.tag_stream(iter([*X * 20, [{"a": None}]]), batch=batch)
        with pytest.raises(TypeError, match=r"X\[40\]\[0\]\['a'\] is None"):
            list(stream)
    stream = tagger.tag_stream(iter([*X * 2, np.zeros((2, 2))]), batch=3)
    with pytest.raises(crfkit.DataError, match=r"X\[4\]"):
        list(stream)
    for wrong in (0, -1, 1.5, True, "many"):
        with pytest.raises(crfkit.SettingError, match="batch is .*: give a whole number of at least 1"):
            tagger.tag_stream(X, batch=wrong)


def test_a_stream_that_fails_answers_what_came_before():
    tagger = models(1)[0].tagger()

    def broken(count):
        yield from (X * count)[:count]
        raise OSError("the line is down")

    def wrong(count):
        yield from (X * count)[:count]
        yield [{"word": object()}]
        yield X[0]

    for count in (0, 1, 2, 5, 40):
        for source, error in ((broken, OSError), (wrong, TypeError)):
            found = []
            with pytest.raises(error):
                for tagged in tagger.tag_stream(source(count)):
                    found.append(list(tagged))
            assert found == (Y * count)[:count]
    for bad in (3, "abc", None):
        with pytest.raises(TypeError, match="iterable"):
            tagger.tag_stream(bad)
    with pytest.raises(crfkit.SettingError, match="threads"):
        tagger.tag_stream(X, threads=0)


def test_sets_have_an_order():
    """Texts have other hashes in every process, so a set has another order."""
    x = "[[{'alpha', 'beta', 'gamma', 'delta'}, {'word': frozenset('abcdefgh')}]]"
    program = f"import crfkit; print(crfkit.ChainCRF(passes=2).fit({x}, [['A', 'B']]).model_.to_bytes())"

    def model(seed):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True).stdout

    assert model("1") == model("2") == model("3")
