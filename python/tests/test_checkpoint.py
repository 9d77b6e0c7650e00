"""Runs that are interrupted and resumed."""

import copy
import os
import pickle
import signal
import stat
import warnings

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, FactorialCRF, GraphCRF, GridCRF, SkipChainCRF


def sentences():
    rng = np.random.default_rng(3)
    X = [[{"a": str(rng.integers(9)), "b": str(rng.integers(5))} for _ in range(6)] for _ in range(40)]
    return X, [[str((int(token["a"]) + int(token["b"])) % 3) for token in x] for x in X]


def words():
    X, y = sentences()
    return [[token["a"] for token in x] for x in X], y


def grids():
    rng = np.random.default_rng(5)
    masks = [rng.integers(0, 2, size=(5, 5)) for _ in range(6)]
    return [mask + 0.8 * rng.normal(size=mask.shape) for mask in masks], masks


def graphs():
    X, y = grids()
    edges = [[k, k + 1] for k in range(24)]
    return [(x.reshape(25, 1), edges) for x in X], [mask.ravel() for mask in y]


def pairs():
    X, y = words()
    return X, [[(label, str(t % 2)) for t, label in enumerate(labels)] for labels in y]


KINDS = [
    (ChainCRF, sentences, {"optimizer": "lbfgs"}),
    (ChainCRF, sentences, {"optimizer": "auto"}),
    (ChainCRF, sentences, {"optimizer": "adagrad", "passes": 12}),
    (SkipChainCRF, words, {"skip": 'equals(0, "1")', "optimizer": "lbfgs", "inference": "loopy-bp"}),
    (FactorialCRF, pairs, {"optimizer": "lbfgs"}),
    (GridCRF, grids, {"optimizer": "lbfgs"}),
    (GraphCRF, graphs, {"optimizer": "lbfgs"}),
]


@pytest.mark.parametrize("kind,data,settings", KINDS)
def test_an_interrupted_run_ends_in_the_model_of_one_that_is_not(kind, data, settings, tmp_path):
    X, y = data()
    whole = kind(**settings).fit(X, y).model_.to_bytes()
    path = tmp_path / "state"
    seen = []

    def interrupted(state):
        if state["phase"] == "training":
            seen.append(state["passes"])
        return len(seen) < 3

    crf = kind(checkpoint=path, callback=interrupted, **settings).fit(X, y)
    assert crf.stop_reason_ == "interrupted" and path.exists()
    assert crf.model_.to_bytes() != whole
    after = []
    crf = kind(checkpoint=str(path), callback=lambda state: after.append((state["phase"], state["passes"])), **settings).fit(X, y)
    assert crf.model_.to_bytes() == whole
    assert not path.exists()
    assert after and after[0] >= ("training", seen[-1]), "it begins where the other one ended"


def test_an_exception_in_the_callback_leaves_a_checkpoint(tmp_path):
    X, y = sentences()
    path = tmp_path / "state"

    def fails(state):
        raise KeyError("why not")

    with pytest.raises(KeyError):
        ChainCRF(optimizer="lbfgs", checkpoint=path, callback=fails).fit(X, y)
    assert path.exists()
    crf = ChainCRF(optimizer="lbfgs", checkpoint=path).fit(X, y)
    assert crf.model_.to_bytes() == ChainCRF(optimizer="lbfgs").fit(X, y).model_.to_bytes()


def test_a_checkpoint_of_other_data_or_settings_is_an_error(tmp_path):
    X, y = sentences()
    path = tmp_path / "state"
    ChainCRF(optimizer="lbfgs", checkpoint=path, callback=lambda state: False).fit(X, y)
    for crf, x in ((ChainCRF(optimizer="lbfgs", sigma=2.0, checkpoint=path), X), (ChainCRF(optimizer="lbfgs", checkpoint=path), X[::-1])):
        with pytest.raises(crfkit.ModelFileError, match="other data or settings") as caught:
            crf.fit(x, y)
        assert str(path) in str(caught.value)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(crfkit.ModelFileError, match="state"):
        ChainCRF(optimizer="lbfgs", checkpoint=path).fit(X, y)


def test_paths(tmp_path):
    X, y = sentences()
    with pytest.raises(TypeError, match="checkpoint is 3"):
        ChainCRF(checkpoint=3).fit(X, y)
    with pytest.raises(FileNotFoundError):
        ChainCRF(checkpoint=tmp_path / "none" / "state").fit(X, y)
    with pytest.raises(OSError):
        ChainCRF(checkpoint=tmp_path).fit(X, y)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_checkpoint_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    X, y = sentences()
    folder = tmp_path / "folder"
    folder.mkdir()

    def close(state):
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        return False

    with pytest.warns(RuntimeWarning, match="checkpoint"):
        ChainCRF(optimizer="lbfgs", checkpoint=folder / "state", callback=close).fit(X, y)
    folder.chmod(stat.S_IRWXU)


def test_a_warning_of_a_checkpoint_names_its_file(tmp_path):
    """Also for root: the directory is gone when the checkpoint is to be written."""
    X, y = sentences()
    folder = tmp_path / "folder"
    folder.mkdir()

    def remove(state):
        if folder.exists():
            folder.rmdir()
        return False

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        crf = ChainCRF(optimizer="lbfgs", checkpoint=folder / "state", callback=remove).fit(X, y)
    assert [warning.category for warning in heard] == [RuntimeWarning]
    assert str(folder / "state") in str(heard[0].message)
    assert crf.model_.labels == ["0", "1", "2"]


def test_ctrl_c_leaves_a_checkpoint(tmp_path):
    X, y = sentences()
    path = tmp_path / "state"

    def press(state):
        if state["passes"] > 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        ChainCRF(optimizer="lbfgs", checkpoint=path, callback=press).fit(X, y)
    assert path.exists()
    crf = ChainCRF(optimizer="lbfgs", checkpoint=path).fit(X, y)
    assert crf.model_.to_bytes() == ChainCRF(optimizer="lbfgs").fit(X, y).model_.to_bytes()


def test_partial_fit_and_objectives_have_no_checkpoint(tmp_path):
    X, y = sentences()
    path = tmp_path / "state"
    ChainCRF(optimizer="lbfgs", checkpoint=path, callback=lambda state: False).partial_fit(X, y)
    assert not path.exists()
    with pytest.raises(crfkit.SettingError, match="checkpoint is not part"):
        crfkit.Objective.chain(X, y, checkpoint=path)


@pytest.mark.parametrize("kind,data,settings", KINDS[:1] + KINDS[4:])
def test_a_warm_start_that_is_interrupted_resumes(kind, data, settings, tmp_path):
    """The checkpoint decides, and not the model of the interruption, which would be another start."""
    X, y = data()
    path = tmp_path / "state"

    def after(reports):
        left = iter(range(reports))
        return lambda state: next(left, None) is not None

    settings = {**settings, "warm_start": True}
    first = kind(**settings).fit(X[: len(X) // 2], y[: len(X) // 2])
    whole = copy.deepcopy(first).fit(X, y).model_.to_bytes()
    crf = first.set_params(checkpoint=path)
    for reports in (1, 2):
        assert crf.set_params(callback=after(reports)).fit(X, y).stop_reason_ == "interrupted" and path.exists()
        assert crf.model_.to_bytes() != whole
    crf = pickle.loads(pickle.dumps(crf.set_params(callback=None)))
    assert crf.fit(X, y).model_.to_bytes() == whole
    assert not path.exists()
    # The next run starts where this one ended.
    again = copy.deepcopy(crf).fit(X, y).model_.to_bytes()
    assert crf.set_params(checkpoint=None).fit(X, y).model_.to_bytes() == again


def test_the_first_run_of_a_warm_start_resumes(tmp_path):
    X, y = sentences()
    path = tmp_path / "state"
    settings = {"optimizer": "lbfgs", "warm_start": True, "checkpoint": path}
    crf = ChainCRF(callback=lambda state: state["passes"] < 3, **settings).fit(X, y)
    assert path.exists()
    whole = ChainCRF(optimizer="lbfgs").fit(X, y).model_.to_bytes()
    assert crf.set_params(callback=None).fit(X, y).model_.to_bytes() == whole
    # Without the file there is nothing to resume: the model of the interruption is the start.
    crf = ChainCRF(callback=lambda state: state["passes"] < 3, **settings).fit(X, y)
    path.unlink()
    stopped = ChainCRF.from_model(crf.model_, optimizer="lbfgs", warm_start=True).fit(X, y)
    assert crf.set_params(callback=None).fit(X, y).model_.to_bytes() == stopped.model_.to_bytes()


@pytest.mark.parametrize("auto", [{"sigma": "auto"}, {"l1": "auto"}])
def test_a_search_for_penalties_that_is_interrupted_says_that_it_has_no_checkpoint(auto, tmp_path):
    X, y = sentences()
    path = tmp_path / "state"
    with pytest.warns(RuntimeWarning, match="while it chose penalties, and left no checkpoint") as heard:
        crf = ChainCRF(optimizer="lbfgs", checkpoint=path, callback=lambda state: False, **auto).fit(X, y)
    assert crf.stop_reason_ == "interrupted" and not path.exists()
    assert str(path) in str(heard[0].message) and heard[0].filename == __file__

    def fails(state):
        raise KeyError("why not")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError):
            ChainCRF(optimizer="lbfgs", checkpoint=path, callback=fails, **auto).fit(X, y)
    whole, seen = ChainCRF(optimizer="lbfgs", callback=lambda state: None, **auto).fit(X, y), []

    def interrupted(state):
        # A run of its own follows the search: its passes count from the start.
        if state["phase"] == "training":
            seen.append(state["passes"])
        return len(seen) < len(whole.history_["passes"]) - 2

    crf = ChainCRF(optimizer="lbfgs", checkpoint=path, callback=interrupted, **auto).fit(X, y)
    assert crf.stop_reason_ == "interrupted" and path.exists()
    assert ChainCRF(optimizer="lbfgs", checkpoint=path, **auto).fit(X, y).model_.to_bytes() == whole.model_.to_bytes()
