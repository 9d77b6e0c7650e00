"""What a notebook shows: the package in a kernel of its own."""

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("tqdm")

CELLS = {
    "fit": """
import os, signal, threading
import crfkit
X = [[{"w": f"<w{k % 9}>"}, {"w": f"<w{k % 7}>"}] for k in range(40)]
y = [["B-NAME", "O"] if k % 2 else ["O", "O"] for k in range(40)]
crf = crfkit.ChainCRF(optimizer="lbfgs", passes=20).fit(X, y)
""",
    "silent": "silent = crfkit.ChainCRF(progress=False).fit(X, y)",
    "model": "crf.model_",
    "tagged": "crf.tagger_.tag(X[1])",
    "interrupt": """
def interrupt(state):
    if state["passes"] > 3:
        os.kill(os.getpid(), signal.SIGINT)
long = crfkit.ChainCRF(optimizer="sgd", passes=10**9, progress=False, callback=interrupt)
try:
    long.fit(X, y)
except KeyboardInterrupt:
    print(long.stop_reason_, len(long.predict(X)))
""",
}


@pytest.fixture(scope="module")
def outputs():
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return dict(zip(CELLS, (cell.outputs for cell in notebook.cells)))


def html(outputs):
    return "".join(output.get("data", {}).get("text/html", "") for output in outputs)


def test_a_bar_is_shown(outputs):
    text = "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs["fit"])
    assert "passes" in text
    assert not outputs["silent"]


def test_models_and_labelled_sequences_are_shown(outputs):
    assert "<b>crfkit.Model</b>" in html(outputs["model"]) and "B-NAME, O" in html(outputs["model"])
    assert "NAME: probability 0." in html(outputs["tagged"])
    assert "&lt;w" in html(outputs["model"]) and "<w" not in html(outputs["model"])


def test_an_interrupt_keeps_the_model_so_far(outputs):
    assert outputs["interrupt"][0]["text"] == "interrupted 40\n"
