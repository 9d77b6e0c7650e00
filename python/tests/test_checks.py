"""scikit-learn's ``check_estimator``, put on sequences.

Its checks fit 2-D arrays with flat labels, so they are mirrored here, each under its own name. Not mirrored, because they ask for what
sequences do not have:

- There is no number of columns: ``check_n_features_in*`` and ``check_dataframe_column_names_consistency``.
- Sequences are lists, and arrays in them are NumPy's and dense: ``check_estimator_sparse_*``, ``check_sample_weight_equivalence_on_sparse_data`` and
  ``check_array_api_*``.
- X has no second axis, and y is a list of lists: ``check_fit2d_1sample``, ``check_fit2d_1feature``, ``check_fit1d``,
  ``check_classifiers_regression_target`` and ``check_supervised_y_2d``.
- There is no ``decision_function``, ``predict_proba``, ``max_iter`` or ``sparsify``, and ``class_weight`` takes no "balanced": ``check_classifiers_train``,
  ``check_decision_proba_consistency``, ``check_non_transformer_estimators_n_iter``, ``check_sparsify_coefficients``,
  ``check_class_weight_classifiers`` and ``check_class_weight_balanced_linear_classifier``.
- Numbers may be negative: ``check_positive_only_tag_during_fit``.
- It is neither: ``check_transformer*`` and ``check_regressors*``.
"""

import copy
import fnmatch
import functools
import inspect
import pickle
import re
import sys

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted
from sklearn.utils.estimator_checks import (
    check_do_not_raise_errors_in_init_or_set_params,
    check_estimator_cloneable,
    check_estimator_repr,
    check_estimator_tags_renamed,
    check_get_params_invariance,
    check_mixin_order,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
    check_valid_tag_types,
)

import crfkit
from crfkit import ChainCRF, EmpiricalTagger, FactorialCRF, GraphCRF, GridCRF, SkipChainCRF

X = [[{"w": word} for word in text.split()] for text in ("Ada sings", "dogs bark loud", "Bob sings", "cats sleep")] * 3
Y = [["NAME", "V"], ["N", "V", "A"], ["NAME", "V"], ["N", "V"]] * 3
KINDS = [ChainCRF, GridCRF, GraphCRF, FactorialCRF, SkipChainCRF, EmpiricalTagger]


# These checks do not fit, so they are taken as they are.
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "check",
    [
        check_do_not_raise_errors_in_init_or_set_params,
        check_estimator_cloneable,
        check_estimator_repr,
        check_estimator_tags_renamed,
        check_get_params_invariance,
        check_mixin_order,
        check_no_attributes_set_in_init,
        check_parameters_default_constructible,
        check_set_params,
        check_valid_tag_types,
    ],
    ids=lambda check: check.__name__,
)
def test_checks_that_do_not_fit(check, kind):
    check(kind.__name__, kind())


def fitted(**params):
    return ChainCRF(**params).fit(X, Y)


def test_check_estimators_fit_returns_self():
    crf = ChainCRF()
    assert crf.fit(X, Y) is crf


def test_check_dont_overwrite_parameters_and_check_estimators_overwrite_params():
    crf = ChainCRF(sigma=2.0, passes=5)
    before, attributes = copy.deepcopy(crf.get_params()), set(vars(crf))
    crf.fit(X, Y)
    assert crf.get_params() == before
    assert all(name.endswith("_") or name.startswith("_") for name in set(vars(crf)) - attributes)


def test_check_dict_unchanged_and_check_methods_subset_invariance():
    crf = fitted()
    before = copy.deepcopy({name: value for name, value in vars(crf).items() if name != "_tagger"})
    whole = crf.predict(X)
    assert [list(crf.predict([x])[0]) for x in X] == [list(y) for y in whole]
    for a, b in zip(crf.predict_marginals(X[:3]), crf.predict_marginals(X)):
        np.testing.assert_array_equal(a, b)
    after = {name: value for name, value in vars(crf).items() if name != "_tagger"}
    assert before.keys() == after.keys() and all(before[name] == after[name] for name in before if name != "model_")


def test_check_methods_sample_order_invariance():
    crf, order = fitted(), np.random.default_rng(1).permutation(len(X))
    assert [list(crf.predict([X[k] for k in order])[i]) for i in range(len(X))] == [list(crf.predict(X)[k]) for k in order]


def test_check_fit_idempotent_and_check_estimators_fit_again():
    crf = fitted()
    first = crf.model_.to_bytes()
    assert crf.fit(X, Y).model_.to_bytes() == first


def test_check_estimators_pickle():
    crf = fitted()
    again = pickle.loads(pickle.dumps(crf))
    assert [list(y) for y in again.predict(X)] == [list(y) for y in crf.predict(X)]
    assert pickle.loads(pickle.dumps(ChainCRF(sigma=3.0))).sigma == 3.0


def test_check_estimators_unfitted():
    for call in (lambda crf: crf.predict(X), lambda crf: crf.score(X, Y), lambda crf: crf.classes_, lambda crf: crf.coef_):
        with pytest.raises(crfkit.NotFittedError):
            call(ChainCRF())


def test_check_classifiers_one_label():
    crf = ChainCRF().fit(X, [["A"] * len(x) for x in X])
    assert all(set(y) == {"A"} for y in crf.predict(X))


def test_check_classifiers_classes():
    crf = fitted()
    assert list(crf.classes_) == sorted({label for y in Y for label in y})
    assert {label for y in crf.predict(X) for label in y} <= set(crf.classes_)


def test_check_estimators_empty_data_messages():
    for data in (([], []), (np.empty(0, dtype=object), np.empty(0, dtype=object))):
        with pytest.raises(ValueError, match="X is empty|nothing to learn"):
            ChainCRF().fit(*data)


def test_check_estimators_nan_inf():
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            ChainCRF().fit([[{"a": bad}]], [["A"]])


def test_check_complex_data():
    with pytest.raises(TypeError):
        ChainCRF().fit([[{"a": 1 + 2j}]], [["A"]])


def test_check_dtype_object():
    with pytest.raises(TypeError):
        ChainCRF().fit([[{"a": object()}]], [["A"]])


def test_check_requires_y_none():
    with pytest.raises(TypeError):
        ChainCRF().fit(X, None)


def test_check_sample_weights_list_and_check_sample_weights_shape_and_check_sample_weight_equivalence_on_dense_data():
    ones = ChainCRF().fit(X, Y, sample_weight=np.ones(len(X))).model_.to_bytes()
    assert ones == fitted().model_.to_bytes() == ChainCRF().fit(X, Y, sample_weight=[1] * len(X)).model_.to_bytes()
    with pytest.raises(ValueError, match="sample_weight"):
        ChainCRF().fit(X, Y, sample_weight=[1.0])
    # A weight of 2 is the sequence twice, and one of 0 leaves it out.
    twice = ChainCRF(optimizer="lbfgs").fit(X + X[:2], Y + Y[:2])
    heavy = ChainCRF(optimizer="lbfgs").fit(X, Y, sample_weight=[2.0, 2.0] + [1.0] * (len(X) - 2))
    assert heavy.objective_ == pytest.approx(twice.objective_, rel=1e-6)
    less = ChainCRF().fit(X, Y, sample_weight=[0.0] + [1.0] * (len(X) - 1))
    assert less.model_.to_bytes() == ChainCRF().fit(X[1:], Y[1:]).model_.to_bytes()


def arrays(dtype=float, order="C"):
    """Sequences of numbers and their labels."""
    rng = np.random.default_rng(1)
    xs = [np.asarray(np.round(3 * rng.normal(size=(4, 2))), dtype=dtype, order=order) for _ in range(6)]
    return xs, [["A" if row[0] > 0 else "B" for row in x] for x in xs]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "int8", "float16"])
def test_check_estimators_dtypes(dtype):
    xs, ys = arrays(dtype)
    assert ChainCRF().fit(xs, ys).model_.to_bytes() == ChainCRF().fit(*arrays()).model_.to_bytes()


def test_check_f_contiguous_array_estimator():
    assert ChainCRF().fit(*arrays(order="F")).model_.to_bytes() == ChainCRF().fit(*arrays()).model_.to_bytes()


def test_check_readonly_memmap_input(tmp_path):
    """joblib gives such arrays to its processes."""
    xs, ys = arrays()
    for k, x in enumerate(xs):
        np.save(tmp_path / f"{k}.npy", x)
    mapped = [np.load(tmp_path / f"{k}.npy", mmap_mode="r") for k in range(len(xs))]
    crf = ChainCRF().fit(mapped, ys)
    assert crf.model_.to_bytes() == ChainCRF().fit(xs, ys).model_.to_bytes()
    assert [list(y) for y in crf.predict(mapped)] == [list(y) for y in crf.predict(xs)]


def test_check_sample_weights_pandas_series():
    pandas = pytest.importorskip("pandas")
    weights = [2.0, 0.5] + [1.0] * (len(X) - 2)
    crf = ChainCRF().fit(pandas.Series(X), pandas.Series(Y), sample_weight=pandas.Series(weights))
    assert crf.model_.to_bytes() == ChainCRF().fit(X, Y, sample_weight=weights).model_.to_bytes()


class NoArray:
    """A collection that NumPy can make an array of, and that is none."""

    def __init__(self, items):
        self._items = np.empty(len(items), dtype=object)
        self._items[:] = items

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __array__(self, dtype=None, copy=None):
        return self._items


def test_check_classifier_data_not_an_array_and_check_sample_weights_not_an_array():
    weights = [2.0] + [1.0] * (len(X) - 1)
    crf = ChainCRF().fit(NoArray(X), NoArray(Y), sample_weight=NoArray(weights))
    assert crf.model_.to_bytes() == ChainCRF().fit(X, Y, sample_weight=weights).model_.to_bytes()


def test_check_sample_weights_not_overwritten():
    weights, read_only = np.full(len(X), 2.0), np.full(len(X), 2.0)
    read_only.flags.writeable = False
    assert fitted().fit(X, Y, sample_weight=weights).model_.to_bytes() == fitted().fit(X, Y, sample_weight=read_only).model_.to_bytes()
    assert (weights == 2.0).all()


def test_check_all_zero_sample_weights_error():
    with pytest.raises(ValueError, match="weight is above 0"):
        ChainCRF().fit(X, Y, sample_weight=[0.0] * len(X))


def test_check_classifiers_one_label_sample_weights():
    """The weights leave a single label."""
    crf = ChainCRF().fit(X[:2], [["A", "A"], ["B", "B", "B"]], sample_weight=[1.0, 0.0])
    assert list(crf.classes_) == ["A"] and list(crf.predict(X[:1])[0]) == ["A", "A"]


def test_check_fit_check_is_fitted():
    crf = ChainCRF()
    with pytest.raises(ValueError):
        check_is_fitted(crf)
    check_is_fitted(crf.fit(X, Y))


def test_check_fit2d_predict1d():
    """A sequence is not a list of sequences."""
    with pytest.raises(TypeError, match=r"^X\[0\] is .*give a list with an entry per token"):
        fitted().predict(X[0])


def test_check_estimators_partial_fit_n_features():
    xs, ys = arrays()
    with pytest.raises(ValueError, match="numbers"):
        ChainCRF().partial_fit(xs, ys).partial_fit([x[:, :1] for x in xs], ys)


def test_check_supervised_y_no_nan():
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(TypeError, match=r"^y\[0\]\[1\] is (nan|inf) \(float\): labels are strings"):
            ChainCRF().fit(X[:1], [["NAME", wrong]])


def test_every_check_is_mirrored_or_listed():
    source = inspect.getsource(sys.modules[__name__])
    listed = re.findall(r"check_\w+\*?", source)
    if not sklearn.__version__.startswith("1.9."):
        pytest.skip("the list is that of scikit-learn 1.9")
    for check in estimator_checks._yield_all_checks(LogisticRegression(), legacy=True):
        while isinstance(check, functools.partial):
            check = check.func
        name = check.__name__
        assert any(fnmatch.fnmatch(name, known) or f"_and_{name}" in known or f"{name}_and_" in known for known in listed), name


def test_metadata_routing():
    """Searches and pipelines pass on what an estimator asks for, and nothing else."""
    weights = np.r_[np.zeros(3), np.ones(len(X) - 3)]
    with sklearn.config_context(enable_metadata_routing=True):
        asking = ChainCRF(progress=False).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(asking, {"sigma": [1.0]}, cv=KFold(2), refit=True).fit(X, Y, sample_weight=weights)
        same = ChainCRF().fit(X, Y, sample_weight=weights)
        assert search.best_estimator_.model_.to_bytes() == same.model_.to_bytes() != fitted().model_.to_bytes()
        pipeline = make_pipeline(FunctionTransformer(), clone(asking)).fit(X, Y, sample_weight=weights)
        assert pipeline[-1].model_.to_bytes() == same.model_.to_bytes()
        assert 0.0 <= pipeline.score(X, Y, sample_weight=weights) <= 1.0
        # As with scikit-learn's own estimators, what was not asked for is an error.
        with pytest.raises(ValueError, match="sample_weight"):
            make_pipeline(FunctionTransformer(), ChainCRF()).fit(X, Y, sample_weight=weights)
        assert make_pipeline(FunctionTransformer(), ChainCRF()).fit(X, Y).score(X, Y) == 1.0
        with pytest.raises(TypeError, match="ChainCRF.fit has no keyword 'weight'; it has X_dev, y_dev, sample_weight, token_weight"):
            ChainCRF().set_fit_request(weight=True)
        for kind in KINDS:
            assert get_routing_for_object(kind()).fit.requests.keys() >= {"X_dev", "y_dev"}
        assert get_routing_for_object(GraphCRF().set_predict_request(allowed="rules")).predict.requests == {"allowed": "rules"}
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        ChainCRF().set_fit_request(sample_weight=True)


def test_check_pipeline_consistency():
    pipeline = make_pipeline(FunctionTransformer(), ChainCRF()).fit(X, Y)
    assert [list(y) for y in pipeline.predict(X)] == [list(y) for y in fitted().predict(X)]


def test_check_tags():
    assert is_classifier(ChainCRF())
    assert get_tags(ChainCRF()).target_tags.required


def test_check_fit_score_takes_y():
    assert "y" in inspect.signature(ChainCRF.fit).parameters and "y" in inspect.signature(ChainCRF.score).parameters


def test_check_clone_of_fitted():
    crf = clone(fitted(sigma=5.0))
    assert crf.sigma == 5.0 and not hasattr(crf, "model_")
