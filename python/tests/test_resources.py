"""What the package takes from the rest of a program: memory, and the interpreter's lock."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import crfkit
from crfkit import ChainCRF


def test_the_lock_is_released_while_corpora_are_built():
    """Another thread waits for the lock only while Python's objects are read, a small part of the time until the first report."""
    random = np.random.default_rng(1)
    x = [[f"w{k}" for k in random.integers(0, 3000, 25)] for _ in range(4000)]
    y = [["AB"[int(word[-1]) % 2] for word in words] for words in x]

    def share():
        longest, last, done = [0.0], [time.monotonic()], threading.Event()

        def count():
            while not done.wait(0.002):
                now = time.monotonic()
                longest[0], last[0] = max(longest[0], now - last[0]), now

        def first(state):
            done.set()
            return False

        counter = threading.Thread(target=count)
        counter.start()
        begin = time.monotonic()
        crfkit.SkipChainCRF(callback=first).fit(x, y)
        done.wait()
        ended = time.monotonic()
        counter.join()
        return longest[0] / (ended - begin)

    assert min(share() for _ in range(5)) < 0.6


def test_the_lock_is_given_away_while_sequences_are_read():
    """Another thread waits for the lock only while a block of sequences is read, and not for all of them."""
    tagger = ChainCRF().fit([[["a"], ["b"]]], [["A", "B"]]).tagger_
    xs = [[{f"k{k}": "text" for k in range(40)} for _ in range(20)]] * 4000

    def share():
        longest, last, done = [0.0], [time.monotonic()], threading.Event()

        def count():
            while not done.wait(0.001):
                now = time.monotonic()
                longest[0], last[0] = max(longest[0], now - last[0]), now

        counter = threading.Thread(target=count)
        counter.start()
        begin = time.monotonic()
        tagger.tag_many(xs, threads=1)
        ended = time.monotonic()
        done.set()
        counter.join()
        return max(longest[0], ended - last[0]) / (ended - begin)

    assert min(share() for _ in range(5)) < 0.6


def long(length):
    """Tokens with long texts, keys and names."""
    return [{f"k{k}": "x" * length for k in range(40)}, {f"{k}{'x' * length}": 1.0 for k in range(40)}, [k * length for k in "ab"]]


def test_long_texts_and_keys():
    """They are read in another way than short ones."""
    for length in (100, 255, 256, 257, 300, 5000):
        crf = ChainCRF(passes=5).fit([long(length)] * 2, [["A", "B", "C"]] * 2)
        values, keys, names = long(length)
        same = [[f"{key}:{text}" for key, text in values.items()], list(keys), names]
        assert set(crf.feature_names_) == {name for token in same for name in token}
        assert np.array_equal(crf.tagger_.tag(long(length)).marginals, crf.tagger_.tag(same).marginals)
        assert crf.tagger_.tag(long(length)).labels == ["A", "B", "C"]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not say how much memory is in use")
def test_long_texts_are_not_kept():
    program = """if True:
        import crfkit
        def megabytes():
            return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
        tagger = crfkit.ChainCRF().fit([[{"a": "b"}]], [["A"]]).tagger_
        before = megabytes()
        tagger.tag([{f"k{k}": "x" * 4_000_000 for k in range(40)}])
        tagger.tag([{f"{k}{'x' * 4_000_000}": 1.0 for k in range(40)}])
        print(megabytes() - before)
    """
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "100000", "MALLOC_TRIM_THRESHOLD_": "100000"}
    assert float(subprocess.check_output([sys.executable, "-c", program], env=environment)) < 20
