"""Images of whose labels something is known: sets of labels in training, and restricted answers."""

import numpy as np
import pytest

from crfkit import GridCRF, Objective
from crfkit.errors import DataError

SHAPE = (3, 4)
X = [np.random.default_rng(k).normal(size=(*SHAPE, 2)) for k in range(4)]
Y = [np.digitize(x[:, :, 0], [-0.5, 0.5]) for x in X]


def one_hot(labels, more=0):
    return np.arange(3 + more) == labels[:, :, np.newaxis]


def with_next(labels):
    """Every second pixel may have the next label too."""
    sets = one_hot(labels)
    sets[:, ::2] |= one_hot((labels + 1) % 3)[:, ::2]
    return sets


def test_sets_of_one_or_all_labels_are_masks():
    crf = GridCRF(passes=5, unlabelled=9).fit(X, [np.where(y == 2, 9, y) if k else y for k, y in enumerate(Y)])
    sets = [one_hot(y) | (y == 2)[:, :, np.newaxis] if k else one_hot(y) for k, y in enumerate(Y)]
    assert GridCRF(passes=5, unlabelled=9).fit(X, sets).model_.to_bytes() == crf.model_.to_bytes()
    # Zeros and ones are truth values, and both forms may be mixed.
    mixed = [Y[0], *(of.astype(np.uint8) for of in sets[1:])]
    assert GridCRF(passes=5, unlabelled=9).fit(X, mixed).model_.to_bytes() == crf.model_.to_bytes()


@pytest.mark.parametrize("objective", ["likelihood", "pseudolikelihood", "piecewise", "marginal", "perceptron", "softmax-margin"])
def test_sets_are_learnt_from(objective):
    crf = GridCRF(objective=objective, passes=10).fit(X, [with_next(y) for y in Y], X_dev=X, y_dev=Y)
    assert crf.classes_.tolist() == [0, 1, 2]
    assert crf.score(X, [with_next(y) for y in Y]) > 0.6


def test_objective_of_sets_is_the_probability_of_what_is_known():
    crf = Objective.grid(X[:1], [with_next(Y[0])], inference="exact", neighbours=0, sigma=None, params={"scaling": "none"})
    theta = np.random.default_rng(1).normal(size=crf.dim)
    value, gradient = crf.value_and_grad(theta)
    model = GridCRF.from_model(crf.model(theta))
    expected = -np.log((model.predict_marginals(X[:1])[0] * with_next(Y[0])).sum(axis=2)).sum()
    assert value == pytest.approx(expected, abs=1e-9)
    step = 1e-6 * gradient
    assert crf.value_and_grad(theta + step)[0] - value == pytest.approx(gradient @ step, rel=1e-3)


def test_answers_are_restricted():
    crf = GridCRF(inference="exact", passes=10, unlabelled=9).fit(X, Y)
    free = crf.predict_marginals(X)
    sets = [with_next((y + 1) % 3) for y in Y]
    for allowed, marginals, labels in zip(sets, crf.predict_marginals(X, allowed=sets), crf.predict(X, allowed=sets)):
        assert (marginals[~allowed] == 0).all()
        np.testing.assert_allclose(marginals.sum(axis=2), 1)
        assert np.take_along_axis(allowed, labels[:, :, np.newaxis].astype(int), axis=2).all()
    # Known labels, and images that are free.
    known = np.full(SHAPE, 9)
    known[1, 1] = 2
    fixed = crf.predict_marginals(X[:2], allowed=[known, None])
    assert fixed[0][1, 1, :2].tolist() == [0, 0] and (fixed[0] > 0).sum() == 3 * 11 + 1
    np.testing.assert_array_equal(fixed[1], free[1])
    assert np.abs(fixed[0][1, 2] - free[0][1, 2]).max() > 1e-4
    # By Bayes: the joint probability of two labels, in either order.
    one, other = np.full(SHAPE, 9), np.full(SHAPE, 9)
    one[0, 0], other[0, 1] = 1, 2
    first = free[0][0, 0, 1] * crf.predict_marginals(X[:1], allowed=[one])[0][0, 1, 2]
    second = free[0][0, 1, 2] * crf.predict_marginals(X[:1], allowed=[other])[0][0, 0, 1]
    assert first == pytest.approx(second, rel=1e-9)


@pytest.mark.parametrize(
    "y, message",
    [
        (np.zeros((*SHAPE, 3), dtype=bool), r"y\[0\] has no label at \(0, 0\)"),
        (np.full((*SHAPE, 3), 2), r"y\[0\] has values other than 0 and 1"),
        (np.ones((*SHAPE, 1), dtype=bool), "two or more labels"),
        (np.ones((4, 3, 3), dtype=bool), r"y\[0\] has the shape \(4, 3, 3\)"),
        (np.ones((*SHAPE, 3, 1), dtype=bool), r"y\[0\] has the shape"),
        (np.ones((*SHAPE, 3), dtype=bool), "there is nothing to learn from"),
    ],
)
def test_wrong_sets(y, message):
    with pytest.raises(ValueError, match=message):
        GridCRF().fit(X[:1], [y])


def test_sets_that_do_not_fit():
    with pytest.raises(DataError, match="sets of 3 labels and of 4"):
        GridCRF().fit(X[:2], [one_hot(Y[0]), one_hot(Y[1], 1)])
    with pytest.raises(DataError, match="the value 7, but labels are"):
        GridCRF().fit(X[:2], [one_hot(Y[0]), np.full(SHAPE, 7)])
    with pytest.raises(TypeError, match="give whole numbers"):
        GridCRF().fit(X[:1], [one_hot(Y[0]).astype(float)])
    crf = GridCRF(passes=2).fit(X, Y)
    for allowed, message in [
        ([np.ones((*SHAPE, 2), dtype=bool)], "the last axis is that of classes_"),
        ([np.full(SHAPE, 5)], r"allowed\[0\] has the label 5, but the labels are \[0, 1, 2\]"),
        ([None, None], "X has 1 sequences, but allowed has 2"),
        ([np.zeros((*SHAPE, 3), dtype=bool)], r"allowed\[0\] has no label at"),
    ]:
        with pytest.raises(DataError, match=message):
            crf.predict(X[:1], allowed=allowed)
    with pytest.raises(DataError, match="the last axis is that of classes_"):
        crf.score(X[:1], [one_hot(Y[0], 1)])


def test_pairs_come_from_the_same_arrays_as_in_training():
    given = [{"nodes": x, "compare": x} for x in X]
    plain, compared = GridCRF(passes=2).fit(X, Y), GridCRF(passes=2).fit(given, Y)
    with pytest.raises(DataError, match="leave them out"):
        plain.predict(given)
    with pytest.raises(DataError, match="give them"):
        compared.predict(X)
    with pytest.raises(DataError, match="leave them out"):
        GridCRF().fit([X[0], given[1]], Y[:2])
