"""Labels that are known, forbidden or missing; explanations, temperatures and scores."""

import collections
import itertools
import math
import types

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, EmpiricalTagger, GridCRF, Objective, Tagger

X = [["Ada", "Lovelace", "sings"], ["Bob", "bark"], ["dogs", "bark", "and", "bark"]] * 2
Y = [["B-PER", "I-PER", "O"], ["B-PER", "O"], ["B-ANI", "O", "O", "O"]] * 2
FEATURES = [[{"word": word, "upper": word[0].isupper()} for word in x] for x in X]


@pytest.fixture(scope="module", params=["rows", "features"])
def crf(request):
    rows = request.param == "rows"
    crf = ChainCRF(template="default" if rows else None, sigma=3.0)
    crf.X = X if rows else FEATURES
    return crf.fit(crf.X, Y)


def probabilities(tagged, labels):
    """Every labelling with its probability."""
    all_of_them = itertools.product(labels, repeat=len(tagged))
    return {names: math.exp(tagged.log_probability(names)) for names in all_of_them}


def check_given(restricted, free, labels, fits):
    """The probabilities are those of the free model, given that the labelling fits."""
    free = {names: p for names, p in probabilities(free, labels).items() if fits(names)}
    total = sum(free.values())
    for names, p in probabilities(restricted, labels).items():
        assert p == pytest.approx(free.get(names, 0.0) / total, abs=1e-12)
    best = max(free, key=free.get)
    assert tuple(restricted.labels) == best
    marginals = np.zeros((len(best), len(labels)))
    for names, p in free.items():
        for t, name in enumerate(names):
            marginals[t, labels.index(name)] += p / total
    np.testing.assert_allclose(restricted.marginals, marginals, atol=1e-12)
    ranked = restricted.nbest(5)
    expected = sorted(free.values(), reverse=True)[:5]
    np.testing.assert_allclose([p for _, p in ranked], np.array(expected) / total, atol=1e-12)
    assert all(fits(tuple(found)) for found, _ in ranked)


def test_allowed_labels(crf):
    tagger = crf.model_.tagger(constraint="none")
    x, labels = crf.X[0], tagger.labels
    free = tagger.tag(x)
    for allowed in ({1: ["O", "B-ANI"], 2: "I-PER"}, [None, ("O", "B-ANI"), "I-PER"]):
        check_given(tagger.tag(x, allowed=allowed), free, labels, lambda names: names[1] in ("O", "B-ANI") and names[2] == "I-PER")
    given = tagger.tag(x, allowed={1: "O", 2: ["I-PER", "O"]})
    mappings = (types.MappingProxyType, collections.UserDict, collections.ChainMap)
    for mapping in (dict, *mappings):
        found = tagger.tag(x, allowed=mapping({1: "O", 2: ["I-PER", "O"], 0: None}))
        assert found.labels == given.labels and np.array_equal(found.marginals, given.marginals)
    assert tagger.tag(x, allowed={}).labels == free.labels
    assert tagger.tag(x).labels == free.labels, "what was allowed before is forgotten"
    iob2 = crf.model_.tagger(constraint="iob2")
    with pytest.raises(crfkit.DataError, match="no labelling of this sequence obeys"):
        iob2.tag(x, allowed={0: "I-PER"})


@pytest.mark.parametrize(
    "allowed,error,message",
    [
        ({3: "O"}, crfkit.DataError, "has token 3, but the sequence has 3"),
        ({-1: "O"}, crfkit.DataError, "tokens count from 0"),
        ({"0": "O"}, crfkit.DataError, "tokens count from 0"),
        ({0: "Z"}, crfkit.DataError, "no label `Z`"),
        ({0: 5}, TypeError, "give a label or a list of labels"),
        ({0: [5]}, TypeError, "give a label or a list of labels"),
        (["O"], crfkit.DataError, "1 entries, but the sequence has 3 tokens"),
        ("O", TypeError, "allowed is 'O' .str.: give a dict"),
        (b"OOO", TypeError, "allowed is b'OOO' .bytes.: give a dict"),
        ({"O", "B-PER", "I-PER"}, TypeError, "allowed is .* .set.: give a dict"),
        ({1: []}, crfkit.DataError, "allowed has no label for token 1"),
        (types.MappingProxyType({9: "O"}), crfkit.DataError, "token 9"),
    ],
)
def test_bad_allowed_labels(crf, allowed, error, message):
    with pytest.raises(error, match=message):
        crf.tagger_.tag(crf.X[0], allowed=allowed)


def test_rules_of_a_tagger(crf):
    free = crf.model_.tagger(constraint="none")
    x, labels = crf.X[0], free.labels
    tagger = Tagger(crf.model_, constraint="forbid B-PER I-PER\nforbid begin O")
    check_given(
        tagger.tag(x), free.tag(x), labels, lambda n: n[0] != "O" and ("B-PER", "I-PER") not in zip(n, n[1:])
    )
    assert all(tagged.labels[0] != "O" for tagged in tagger.tag_many(crf.X))
    once = crf.model_.tagger(constraint="none", at_most_once=["O", "PER"])

    def fits(names):
        begins = [
            b == "B-PER" or (b == "I-PER" and a not in ("B-PER", "I-PER")) for a, b in zip(("O", *names), names)
        ]
        return names.count("O") <= 1 and sum(begins) <= 1

    check_given(once.tag(x), free.tag(x), labels, fits)
    for wrong, message in (("bilou", "choose none, iob2 or iobes"), ("forbid A", "is not a rule"), ("forbid A O", "no label `A`")):
        with pytest.raises(crfkit.CrfkitError, match=message):
            crf.model_.tagger(constraint=wrong)
    with pytest.raises(crfkit.SettingError, match="no label or chunk type `Z`"):
        crf.model_.tagger(at_most_once=["Z"])


def test_labels_at_most_once_are_named(crf):
    with pytest.raises(crfkit.SettingError, match="no label or chunk type `Z`; choose among [^ ].*[^ ,]$"):
        crf.model_.tagger(at_most_once=["Z"])


def test_training_under_rules():
    for constraint in ("iob2", "forbid begin I-*\nforbid O I-*\nforbid B-ANI I-PER"):
        tagged = ChainCRF(template="default", constraint=constraint).fit(X, Y).tagger_.tag(X[0])
        assert tagged.log_probability(["I-PER", "I-PER", "O"]) == -math.inf
        assert sum(probabilities(tagged, ["B-PER", "I-PER", "O", "B-ANI"]).values()) == pytest.approx(1.0)
    with pytest.raises(crfkit.DataError, match="X\\[0\\].*the constraint forbids"):
        ChainCRF(template="default", constraint="forbid I-PER O").fit(X, Y)
    with pytest.raises(crfkit.SettingError, match="choose none, iob2 or iobes"):
        ChainCRF(template="default", constraint="iob1").fit(X, Y)
    free = ChainCRF(template="default", constraint="none").fit(X, Y).tagger_.tag(X[0])
    assert free.log_probability(["I-PER", "I-PER", "O"]) > -math.inf


def test_the_loss_of_partial_labels_is_that_of_all_completions():
    settings = {"states": "all", "transitions": "all", "sigma": None, "params": {"scaling": "none"}}
    labels = ["B-ANI", "B-PER", "I-PER", "O"]
    whole = FEATURES[0]

    def value(*y, **more):
        """Of sequence 0 with these labels, beside others that have all labels."""
        objective = Objective.chain([whole, *FEATURES[1:]], [list(y), *Y[1:]], **settings, **more)
        return objective.value_and_grad(np.cos(np.arange(objective.dim)))[0]

    for missing in (None, "?"):
        found = value("B-PER", missing, {"O", "B-ANI"}, partial_labels=True)
        every = [value("B-PER", b, c) for b in labels for c in ("O", "B-ANI")]
        base = min(every)
        # −log Σ exp(−loss): the others are a constant in all of them.
        assert found == pytest.approx(base - math.log(sum(math.exp(base - v) for v in every)))
    assert value("B-PER", "O|B-ANI", "O", partial_labels=True) == value("B-PER", ("B-ANI", "O"), "O", partial_labels=True)


def test_partial_labels():
    y = [[None if (k + t) % 3 == 0 else label for t, label in enumerate(labels)] for k, labels in enumerate(Y)]
    crf = ChainCRF(template="default", partial_labels=True).fit(X, y)
    assert crf.score(X, y) == 1.0 and set(crf.classes_) <= {"B-PER", "I-PER", "B-ANI", "O"}
    assert crf.score(X[:1], [[None, {"I-PER", "O"}, ("O", "B-ANI")]]) == 1.0
    assert crf.score(X[:1], [["?", "I-PER|O", "B-ANI|O"]]) == 1.0
    assert crf.score(X[:1], [["?", "O|B-ANI", "O"]]) == 0.5
    with pytest.raises(TypeError, match="set partial_labels=True"):
        ChainCRF(template="default").fit(X, y)
    for wrong in (5, {"A", 3}, {"A|B"}, {"?"}):
        with pytest.raises(TypeError, match="labels are strings, None or sets"):
            ChainCRF(template="default", partial_labels=True).fit([["a"]], [[wrong]])
    with pytest.raises(crfkit.DataError, match="is empty"):
        ChainCRF(template="default", partial_labels=True).fit([["a"]], [[set()]])


def test_explanations_add_up(crf):
    tagger = crf.model_.tagger(constraint="none")
    x = crf.X[0]
    tagged = tagger.tag(x)
    ranked = tagged.nbest(200)
    found = tagger.explain(x, removals=2)
    assert [why.token for why in found] == [0, 1, 2] and [why.label for why in found] == tagged.labels
    for why in found:
        assert sum(part.amount for part in why.contributions) == pytest.approx(why.difference)
        rival, p = next((names, p) for names, p in ranked if names[why.token] != why.label)
        assert why.rival == rival[why.token] and why.difference == pytest.approx(math.log(ranked[0][1] / p))
        amounts = [abs(part.amount) for part in why.contributions]
        assert amounts == sorted(amounts, reverse=True)
        assert sum(part.without is not None for part in why.contributions) <= 2
    assert any(part.without is not None for why in found for part in why.contributions)
    [one] = tagger.explain(x, 1)
    assert one[:3] == found[1][:3] and tagger.explain(x, [1]) == [one]
    assert any("Lovelace" in (part.feature or "") for part in one.contributions)
    assert tagger.explain([]) == []
    with pytest.raises(crfkit.DataError, match="no token 3"):
        tagger.explain(x, 3)
    once = crf.model_.tagger(constraint="none", at_most_once=["O"])
    ranked = once.tag(x).nbest(200)
    for why in once.explain(x):
        rival, p = next((names, p) for names, p in ranked if names[why.token] != why.label)
        assert why.rival == rival[why.token] and why.difference == pytest.approx(math.log(ranked[0][1] / p))


def test_temperatures(crf):
    wrong = [["O", "B-PER", "O"]] + [list(y) for y in Y[1:]]
    model = crf.model_.calibrate(crf.X, wrong)
    assert model.temperature > 1 and crf.model_.temperature == 1.0

    def likelihood(model):
        tagger = model.tagger()
        return sum(tagger.tag(x).log_probability(y) for x, y in zip(crf.X, wrong))

    assert likelihood(model) > likelihood(crf.model_)
    for x in crf.X:
        assert model.tagger().tag(x).labels == crf.tagger_.tag(x).labels
    assert crfkit.Model.from_bytes(model.to_bytes()).temperature == model.temperature
    with pytest.raises(crfkit.DataError, match="labelled data"):
        crf.model_.calibrate(crf.X[:1], [["new"] * 3])
    with pytest.raises(crfkit.DataError, match="X has 1 sequences"):
        crf.model_.calibrate(crf.X[:1], [])
    grid = GridCRF(passes=2).fit([np.zeros((2, 2))], [np.array([[0, 1], [1, 0]])])
    with pytest.raises(crfkit.SettingError, match="temperature"):
        grid.model_.calibrate(crf.X, Y)


def test_scores(crf):
    gold = [["B-PER", "O", "O"]] + Y[1:]
    scores = crf.model_.evaluate(crf.X, gold)
    # Six chunks are there and six are found, of which one is too long.
    assert scores.precision == scores.recall == scores.f1 == pytest.approx(100 * 5 / 6)
    assert scores.accuracy == pytest.approx(100 * 17 / 18) and scores.sequence_accuracy == pytest.approx(100 * 5 / 6)
    assert (scores.tokens, scores.sequences) == (18, 6) and "precision" in str(scores)
    plain = EmpiricalTagger().fit([["a", "b"]], [["X", "Y"]]).model_.evaluate([["a", "b"]], [["X", "X"]])
    assert plain.f1 is None and plain.accuracy == 50.0
    with pytest.raises(crfkit.DataError, match="X has no token"):
        crf.model_.evaluate([], [])


def test_how_unsure(crf):
    tagged = crf.model_.tagger(constraint="none").tag(crf.X[0])
    p = np.array(list(probabilities(tagged, crf.model_.labels).values()))
    assert tagged.entropy == pytest.approx(-(p * np.log(p)).sum())
    best = np.sort(p)[::-1]
    assert tagged.margin == pytest.approx(math.log(best[0] / best[1]))
    empty = crf.tagger_.tag([])
    assert empty.entropy == 0.0 and empty.margin == math.inf


def test_the_model_of_a_tagger(crf):
    assert crf.tagger_.model.to_bytes() == crf.model_.to_bytes()
