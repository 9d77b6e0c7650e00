"""Figures, and what importing the package costs."""

import subprocess
import sys

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF, GridCRF

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from crfkit.plot import plot_grid, plot_learning_curves, plot_transitions  # noqa: E402

X = [["Ada", "sings"], ["dogs", "bark"]] * 4
Y = [["NAME", "VERB"], ["NOUN", "VERB"]] * 4


def test_learning_curves():
    crf = ChainCRF(template="default", optimizer="lbfgs").fit(X, Y, X_dev=X, y_dev=Y)
    axes = plot_learning_curves({"a": crf, "b": crf})
    assert [line.get_label() for line in axes.get_lines()] == ["a", "b"]
    np.testing.assert_allclose(axes.get_lines()[0].get_ydata()[-1], [v for v in crf.history_["objective"] if v is not None][-1])
    assert plot_learning_curves(crf, score=True).get_ylabel().startswith("score")
    with pytest.raises(crfkit.DataError, match="X_dev"):
        plot_learning_curves(ChainCRF(template="default").fit(X, Y), score=True)
    with pytest.raises(crfkit.NotFittedError):
        plot_learning_curves(ChainCRF())


def test_transitions():
    crf = ChainCRF(template="default").fit(X, Y)
    axes = plot_transitions(crf)
    np.testing.assert_allclose(axes.get_images()[0].get_array(), crf.transitions_)


def test_grid():
    image = np.random.default_rng(1).normal(size=(6, 5, 2))
    truth = (image[:, :, 0] > 0).astype(int)
    crf = GridCRF(passes=3).fit([image], [truth])
    axes = plot_grid(image, crf.predict([image])[0], crf.predict_marginals([image])[0])
    assert [axis.get_title() for axis in axes] == ["image", "labels", "probability"]
    assert len(plot_grid({"nodes": image}, truth)) == 2
    with pytest.raises(crfkit.DataError, match="2 parts"):
        plot_grid(image, truth, axes=axes[:1])


def test_import_takes_little():
    """Less than 100 ms beyond NumPy, and none of the packages that only some functions need."""
    program = (
        "import time, numpy, sys; t = time.perf_counter(); import crfkit; print(time.perf_counter() - t);"
        "print([m for m in ('scipy', 'sklearn', 'matplotlib', 'tqdm') if m in sys.modules])"
    )
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split("\n") for _ in range(5)]
    assert all(run[1] == "[]" for run in runs)
    assert min(float(run[0]) for run in runs) < 0.1
