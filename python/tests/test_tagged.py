"""Everything that a labelled sequence tells."""

import itertools
import re

import numpy as np
import pytest

from crfkit import ChainCRF, Span

X = [["Ada", "Lovelace", "sings"], ["Bob", "bark"], ["dogs", "bark", "and", "bark"]] * 3
Y = [["B-PER", "I-PER", "O"], ["B-PER", "O"], ["B-ANI", "O", "O", "O"]] * 3


@pytest.fixture(scope="module")
def tagger():
    return ChainCRF(template="default").fit(X, Y).model_.tagger()


def test_pair_marginals_equal_enumeration(tagger):
    tagged, labels = tagger.tag(X[0]), tagger.labels
    expected = np.zeros((2, len(labels), len(labels)))
    for numbers in itertools.product(range(len(labels)), repeat=3):
        p = np.exp(tagged.log_probability([labels[number] for number in numbers]))
        for t in range(2):
            expected[t, numbers[t], numbers[t + 1]] += p
    np.testing.assert_allclose(tagged.pair_marginals, expected, atol=1e-12)
    np.testing.assert_allclose(tagged.pair_marginals.sum(axis=2), tagged.marginals[:-1], atol=1e-12)
    assert tagger.tag(["Ada"]).pair_marginals.shape == (0, len(labels), len(labels))
    assert tagger.tag([]).pair_marginals.shape == (0, len(labels), len(labels))


def test_spans_equal_enumeration(tagger):
    tagged, labels = tagger.tag(X[0]), tagger.labels
    [span] = tagged.spans
    assert isinstance(span, Span) and span[:3] == (0, 2, "PER")
    p = 0.0
    for numbers in itertools.product(range(len(labels)), repeat=3):
        names = [labels[number] for number in numbers]
        if names[:2] == ["B-PER", "I-PER"] and names[2] != "I-PER":
            p += np.exp(tagged.log_probability(names))
    assert span.probability == pytest.approx(p)
    assert tagger.tag([]).spans == []


def test_spans_of_plain_labels_are_tokens():
    tagged = ChainCRF(template="default").fit([["a", "b"]], [["X", "Y"]]).model_.tagger().tag(["a", "b"])
    assert [(s.start, s.end, s.label) for s in tagged.spans] == [(0, 1, "X"), (1, 2, "Y")]
    assert tagged.spans[0].probability == pytest.approx(tagged.marginals[0, 0])


def test_words(tagger):
    assert tagger.tag(X[0]).words == X[0]
    features = ChainCRF().fit([[{"a": 1}]], [["L"]]).model_.tagger().tag([{"a": 1}, {"a": 1}])
    assert features.words == ["1", "2"]


HOSTILE = '<script>alert("x")</script>\'"&'


def test_html_is_escaped():
    crf = ChainCRF(template="default").fit([[HOSTILE, "b"]], [[HOSTILE, "O"]])
    for html in (crf.model_.tagger().tag([HOSTILE, "b"])._repr_html_(), crf.model_._repr_html_()):
        assert "<script" not in html.lower() and "&lt;script&gt;" in html
        assert not re.search(r"\son\w+=", html)
        # Quotes inside attributes are escaped.
        assert all(value.count("<") == 0 for value in re.findall(r'="([^"]*)"', html))


def test_html_shows_what_it_should(tagger):
    html = tagger.tag(X[0])._repr_html_()
    assert "Ada Lovelace" in html and "PER: probability 0." in html and ">sings<" in html
    assert "an empty sequence" in tagger.tag([])._repr_html_()
    crf = ChainCRF(sigma=0.5).fit([[{"word": "a"}, {"word": "b"}]], [["K", "L"]])
    html = crf.model_._repr_html_()
    assert "word:a" in html and "sigma" in html and "0.5" in html and "2 labels" in html


def test_html_of_words_from_right_to_left():
    words = ["שלום", "ירושלים"]
    crf = ChainCRF(template="default").fit([words, ["1", "Ada"]], [["O", "B-LOC"], ["O", "B-PER"]])
    assert crf.tagger_.tag(words)._repr_html_().startswith('<div dir="rtl"')
    assert crf.tagger_.tag(["1", *words])._repr_html_().startswith('<div dir="rtl"')
    assert crf.tagger_.tag(["1", "Ada", *words])._repr_html_().startswith('<div dir="ltr"')
    assert crf.tagger_.tag(["1"])._repr_html_().startswith('<div dir="ltr"')
    # A label has a direction of its own.
    assert "<bdi>LOC</bdi>" in crf.tagger_.tag(words)._repr_html_()


def test_html_of_many_labels():
    labels = [f"L{k:03d}" for k in range(60)]
    html = ChainCRF(passes=2).fit([[{"w": label} for label in labels]], [labels]).model_._repr_html_()
    assert "60 labels" in html and "L039, … and 20 more" in html and "L040," not in html
