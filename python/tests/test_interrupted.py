"""Ctrl-C while sequences are read and labelled. Interrupted training is in test_chain.py and test_checkpoint.py."""

import os
import signal
import threading
import time

import pytest

import crfkit
from crfkit import ChainCRF

X = [[{"word": "Ada", "upper": True}, {"word": "sings", "length": 2}], [{"word": "dogs"}, {"word": "bark"}]]
Y = [["NAME", "O"], ["O", "O"]]


def many_labels():
    """A tagger that takes its time, since it has 300 labels and all their pairs, and sequences for it."""
    y = [[str(label), str(label + 1)] for label in range(0, 300, 2)]
    crf = ChainCRF(transitions="all", optimizer="sgd", passes=1).fit([[["a"], ["b"]]] * len(y), y)
    return crf.tagger_, [[["a"]] * 200] * 20_000


def test_ctrl_c_ends_labelling_of_sequences():
    tagger, xs = many_labels()
    begin = time.monotonic()
    tagger.tag_many(xs[:20], threads=1)
    each = (time.monotonic() - begin) / 20
    xs = xs[: max(100, int(20 / each))]
    for threads in (1, 2):
        pressed = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            pressed.start()
            tagger.tag_many(xs, threads=threads)
        assert time.monotonic() - begin < 5
    assert len(tagger.tag_many(xs[:3])) == 3


class Interrupted:
    """An object whose own code is interrupted while it is read."""

    def __init__(self, *names):
        self.names = names

    def _fails(self, name):
        if name in self.names:
            raise KeyboardInterrupt
        raise TypeError

    def __len__(self):
        return 1

    def __iter__(self):
        self._fails("iter")

    def __float__(self):
        self._fails("float")

    @property
    def ndim(self):
        return 0 if "ndim" not in self.names else self._fails("ndim")


def test_what_interrupts_the_reading_of_an_object_is_raised():
    """It is not said to be of a wrong type."""
    crf = ChainCRF().fit(X, Y)
    for reading in (
        lambda: crf.tagger_.tag_many(Interrupted("iter")),
        lambda: crf.tagger_.tag(Interrupted("iter")),
        lambda: crf.tagger_.tag([Interrupted("iter")]),
        lambda: crf.tagger_.tag([{"a": Interrupted("ndim")}]),
        lambda: crf.tagger_.tag([{"a": Interrupted("float")}]),
        lambda: crf.tagger_.tag(X[0], allowed=Interrupted("iter")),
        lambda: crf.tagger_.tag(X[0], allowed={0: Interrupted("iter")}),
        lambda: ChainCRF().fit(X, [Interrupted("iter"), Y[1]]),
        lambda: ChainCRF(template="default").fit([[Interrupted("iter")]], [["A"]]),
        lambda: crfkit.Tagger(Interrupted("iter")),
    ):
        with pytest.raises(KeyboardInterrupt):
            reading()
    for reading in (lambda: crf.tagger_.tag(Interrupted()), lambda: crf.tagger_.tag([{"a": Interrupted()}])):
        with pytest.raises(TypeError, match="x(.0...a..)? is .*: give a"):
            reading()
