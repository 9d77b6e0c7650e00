"""Model files: what is saved comes back, and a damaged file raises."""

import os
import subprocess
import sys

import pytest

import crfkit

X = [[{"word": "Ada"}, {"word": "sings"}], [{"word": "dogs"}, {"word": "bark"}]]
Y = [["NAME", "VERB"], ["NOUN", "VERB"]]


@pytest.fixture(scope="module")
def model():
    return crfkit.ChainCRF().fit(X, Y).model_


def test_save_and_load(model, tmp_path):
    path = tmp_path / "model"
    model.save(path)
    model.save(str(path))
    again = crfkit.Model.load(path)
    assert again.to_bytes() == model.to_bytes() == path.read_bytes()
    assert again.labels == ["NAME", "NOUN", "VERB"] and again.kind == "chain" and again.takes == "features"
    assert crfkit.Tagger(again).tag(X[0]) == Y[0]


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        crfkit.Model.load(tmp_path / "none")
    other = tmp_path / "other"
    other.write_bytes(b"lCRF" + bytes(100))
    with pytest.raises(crfkit.ModelFileError):
        crfkit.Model.load(other)


def test_every_truncation_raises(model):
    data = model.to_bytes()
    for length in range(len(data)):
        with pytest.raises(crfkit.ModelFileError):
            crfkit.Model.from_bytes(data[:length])


def test_every_flipped_byte_raises(model):
    data = model.to_bytes()
    for at in range(len(data)):
        with pytest.raises(crfkit.ModelFileError):
            crfkit.Model.from_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])


def test_importing_costs_little_beyond_numpy():
    """CPU time, so that other programs do not lengthen it; the best of a few."""

    def seconds(module):
        program = f"import time; b = time.process_time(); import {module}; print(time.process_time() - b)"
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        runs = (subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment) for _ in range(5))
        return min(float(run.stdout) for run in runs)

    assert seconds("numpy, crfkit") - seconds("numpy") < 0.1


def test_scikit_learn_and_scipy_are_not_imported():
    program = "import sys, crfkit; print({'sklearn', 'scipy', 'tqdm'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", program]) == b"set()\n"
