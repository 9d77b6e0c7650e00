"""The documentation's examples run, and say what the pages say."""

import doctest
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = [
    "crfkit",
    "crfkit.chain",
    "crfkit.empirical",
    "crfkit.explain",
    "crfkit.factorial",
    "crfkit.graph",
    "crfkit.grid",
    "crfkit.objective",
    "crfkit.plot",
    "crfkit.scores",
    "crfkit.skip",
    "crfkit.spans",
    "crfkit.stream",
    "crfkit.text",
    "crfkit._crfkit",
    "crfkit.compat.pycrfsuite",
    "crfkit.compat.pycrfsuite._items",
    "crfkit.compat.sklearn_crfsuite.estimator",
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    assert module.__doc__ or name == "crfkit._crfkit"
    failed, tried = doctest.testmod(module)
    assert failed == 0
    if name == "crfkit._crfkit":  # written in Rust, where doctest does not look by itself
        finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
        for kind in (module.Model, module.Tagger, module.Tagged):
            for test in finder.find(kind, kind.__name__, globs={}):
                tried += runner.run(test).attempted
        assert runner.failures == 0
    assert tried > 0


@pytest.mark.parametrize("path", sorted((ROOT / "examples/python").glob("*.py")), ids=lambda path: path.name)
def test_examples(path, tmp_path):
    run = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout
    if run.stdout.startswith("this example needs"):
        pytest.skip(f"{path.name}: {run.stdout.strip()}")


@pytest.mark.parametrize("page", ["README.md", "docs/GUIDE.md"])
def test_pages(page, tmp_path, monkeypatch):
    """The Python blocks of a page are one program. Those for JAX are left out where it is not installed."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert blocks, "are they marked differently now?"
    if importlib.util.find_spec("jax") is None:
        blocks = [block for block in blocks if "import jax" not in block]
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks), page, "exec"), {})


def test_every_public_name_is_documented():
    import crfkit

    for name in crfkit.__all__:
        assert name == "__version__" or getattr(crfkit, name).__doc__, name
