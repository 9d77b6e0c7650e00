"""Our objectives, driven by other optimisers."""

import threading
import time

import numpy as np
import pytest
from scipy.optimize import minimize

import crfkit
from crfkit import ChainCRF, GraphCRF, GridCRF, Objective


def sequences():
    words = ["Ada", "sings", "Bob", "and", "dogs", "bark"]
    X = [[{"w": words[(k * 3 + t) % 6], "size": 1.0 + t} for t in range(2 + k % 4)] for k in range(20)]
    y = [["NAME" if token["w"] in ("Ada", "Bob") else "O" if token["w"] == "and" else "X" for token in x] for x in X]
    return X, y


def grids():
    rng = np.random.default_rng(3)
    y = [np.repeat([[0, 5], [5, 0]], 3, axis=0).repeat(3, axis=1) for _ in range(3)]
    return [mask / 5 + rng.normal(size=mask.shape) for mask in y], y


def graphs():
    rng = np.random.default_rng(4)
    edges = np.array([[0, 1], [1, 2], [2, 3]])
    X = [(rng.normal(size=(4, 2)), edges, rng.normal(size=(3, 1))) for _ in range(6)]
    return X, [np.where(x[0][:, 0] > 0, "up", "down") for x in X]


def test_scipy_finds_the_optimum_of_training():
    X, y = sequences()
    objective = Objective.chain(X, y, sigma=2.0)
    found = minimize(objective.value_and_grad, np.zeros(objective.dim), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    fitted = ChainCRF(sigma=2.0, optimizer="lbfgs").fit(X, y)
    assert found.fun == pytest.approx(fitted.objective_, rel=1e-4)
    model = objective.model(found.x)
    assert [list(t) for t in model.tagger().tag_many(X)] == [list(p) for p in fitted.predict(X)]
    newton = minimize(
        objective.value_and_grad, np.zeros(objective.dim), jac=True, hessp=objective.hess_vec, method="Newton-CG"
    )
    assert newton.fun == pytest.approx(found.fun, rel=1e-4)


@pytest.mark.parametrize(
    "objective",
    [
        Objective.chain(*sequences(), sigma=3.0),
        Objective.chain(*sequences(), objective="pseudolikelihood"),
        Objective.grid(*grids(), sigma=2.0, objective="pseudolikelihood"),
        Objective.graph(*graphs(), inference="exact", sigma=2.0),
    ],
    ids=["chain", "pseudolikelihood", "grid", "graph"],
)
def test_derivatives_and_batches(objective):
    rng = np.random.default_rng(1)
    theta, v = 0.3 * rng.normal(size=(2, objective.dim))
    value, gradient = objective.value_and_grad(theta)
    step = 1e-5
    high, low = objective.value_and_grad(theta + step * v), objective.value_and_grad(theta - step * v)
    assert (high[0] - low[0]) / (2 * step) == pytest.approx(gradient @ v, rel=1e-6, abs=1e-6)
    product = objective.hess_vec(theta, v)
    np.testing.assert_allclose((high[1] - low[1]) / (2 * step), product, rtol=1e-5, atol=1e-5)
    halves = np.array_split(np.arange(objective.examples), 2)
    parts = [objective.value_and_grad(theta, batch=half) for half in halves]
    assert parts[0][0] + parts[1][0] == pytest.approx(value)
    np.testing.assert_allclose(parts[0][1] + parts[1][1], gradient, atol=1e-9)
    products = [objective.hess_vec(theta, v, list(half)) for half in halves]
    np.testing.assert_allclose(products[0] + products[1], product, atol=1e-9)


def test_models_of_grids_and_graphs():
    X, y = grids()
    objective = Objective.grid(X, y)
    found = minimize(objective.value_and_grad, np.zeros(objective.dim), jac=True, options={"maxiter": 30})
    assert GridCRF.from_model(objective.model(found.x)).score(X, y) > 0.6
    X, y = graphs()
    objective = Objective.graph(X, y, inference="exact")
    found = minimize(objective.value_and_grad, np.zeros(objective.dim), jac=True)
    assert GraphCRF.from_model(objective.model(found.x)).score(X, y) > 0.9
    assert found.fun == pytest.approx(GraphCRF(inference="exact", optimizer="lbfgs").fit(X, y).objective_, rel=1e-3)


def test_the_lock_is_released():
    X, y = sequences()
    objective = Objective.chain(X * 200, y * 200, threads=1)
    theta, ticks, stop = np.zeros(objective.dim), 0, threading.Event()
    worker = threading.Thread(target=lambda: [objective.value_and_grad(theta) for _ in range(20)] and stop.set())
    worker.start()
    while not stop.is_set():
        ticks += 1
        time.sleep(0.0005)
    worker.join()
    assert ticks > 3


def test_what_is_wrong_is_said():
    X, y = sequences()
    objective = Objective.chain(X, y)
    assert "weights" in repr(objective)
    with pytest.raises(crfkit.SettingError, match="theta has 3 numbers"):
        objective.value_and_grad(np.zeros(3))
    with pytest.raises(ValueError, match="one axis"):
        objective.value_and_grad(np.zeros((2, 2)))
    with pytest.raises(crfkit.SettingError, match="example 99"):
        objective.value_and_grad(np.zeros(objective.dim), batch=[99])
    with pytest.raises(crfkit.DataError, match="count from 0"):
        objective.value_and_grad(np.zeros(objective.dim), batch=[-1])
    with pytest.raises(TypeError, match="numbers of examples"):
        objective.value_and_grad(np.zeros(objective.dim), batch=[0.5])
    with pytest.raises(crfkit.SettingError, match="not part of the objective"):
        Objective.chain(X, y, optimizer="sgd")
    with pytest.raises(crfkit.SettingError, match="auto"):
        Objective.chain(X, y, sigma="auto")


@pytest.mark.parametrize("layout", ["list", "float32", "big endian", "strided", "reversed", "read-only", "unaligned", "objects"])
def test_vectors_of_any_layout(layout):
    objective = Objective.chain(*sequences())
    theta = np.linspace(-1, 1, objective.dim, dtype=np.float32).astype(float)
    bytes_of = np.frombuffer(b"x" + theta.tobytes(), dtype=np.uint8)
    given = {
        "list": theta.tolist(),
        "float32": theta.astype(np.float32),
        "big endian": theta.astype(">f8"),
        "strided": np.stack([theta, theta, theta], axis=1)[:, 1],
        "reversed": theta[::-1].copy()[::-1],
        "read-only": theta.copy(),
        "unaligned": bytes_of[1:].view(float),
        "objects": theta.astype(object),
    }[layout]
    if layout == "read-only":
        given.flags.writeable = False
    (value, gradient), (expected, slopes) = objective.value_and_grad(given), objective.value_and_grad(theta)
    assert value == expected and np.array_equal(gradient, slopes)
    assert np.array_equal(objective.hess_vec(given, given), objective.hess_vec(theta, theta))


def test_what_is_no_vector_is_said():
    objective = Objective.chain(*sequences())
    for wrong, error, message in (
        (None, TypeError, "it has None"),
        ([None] * objective.dim, TypeError, "it has None"),
        (0.5, ValueError, r"the shape \(\)"),
        (np.zeros((objective.dim, 1)), ValueError, "one axis"),
        (np.zeros(objective.dim, complex), TypeError, "complex"),
        (["a"] * objective.dim, TypeError, "not an array of numbers"),
        (np.zeros(objective.dim + 1), crfkit.SettingError, f"has {objective.dim} weights"),
    ):
        with pytest.raises(error, match=message):
            objective.value_and_grad(wrong)
    # Line searches step back from such values.
    assert np.isnan(objective.value_and_grad(np.full(objective.dim, np.nan))[0])


@pytest.mark.parametrize("precise", [False, True])
def test_jax_finds_the_optimum_of_training(precise):
    """The way that the guide shows, in both precisions, and compiled."""
    jax = pytest.importorskip("jax")
    from jax.scipy.optimize import minimize as minimize_in_jax

    X, y = sequences()
    objective = Objective.chain(X, y, sigma=2.0)
    kind = np.float64 if precise else np.float32

    def compute(theta):
        value, gradient = objective.value_and_grad(theta)
        return kind(value), gradient.astype(kind)

    sizes = jax.ShapeDtypeStruct((), kind), jax.ShapeDtypeStruct((objective.dim,), kind)

    @jax.custom_vjp
    def loss(theta):
        return jax.pure_callback(compute, sizes, theta)[0]

    loss.defvjp(lambda theta: jax.pure_callback(compute, sizes, theta), lambda gradient, scale: (scale * gradient,))
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", precise)
    try:
        start = jax.numpy.zeros(objective.dim)
        assert start.dtype == kind
        value, gradient = jax.jit(jax.value_and_grad(loss))(start)
        expected, slopes = objective.value_and_grad(start)
        assert float(value) == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)
        found = minimize_in_jax(loss, start, method="BFGS")
        best = ChainCRF(sigma=2.0, optimizer="lbfgs").fit(X, y).objective_
        assert float(found.fun) == pytest.approx(best, rel=1e-3)
        assert [list(labels) for labels in objective.model(found.x).tagger().tag_many(X)] == y
    finally:
        jax.config.update("jax_enable_x64", before)


def test_a_model_has_finite_weights():
    objective = crfkit.Objective.chain([[{"a": 1.0}, {"b": 1.0}]], [["A", "B"]])
    for wrong in (float("inf"), float("nan")):
        theta = np.zeros(objective.dim)
        theta[1] = wrong
        with pytest.raises(crfkit.DataError, match="theta has (inf|nan) for a weight"):
            objective.model(theta)
