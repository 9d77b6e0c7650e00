"""Runs one program with a time limit and says what it cost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024  # getrusage counts bytes there, kilobytes elsewhere


class CommandFailed(Exception):
    """A program that could not be started, failed, or ran out of time; the message is fit to print."""


@dataclass(frozen=True)
class Finished:
    """A program that ended well."""

    stdout: str
    wall_seconds: float
    peak_mb: float  # the largest resident set, in 10^6 bytes


def run(
    command: Sequence[str | Path],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    keep_output: bool = True,
) -> Finished:
    """Waits for `command`; `env` is added to this process's environment.

    The kernel's record of the peak includes what a child shared with us before its exec, so this process must stay small:
    nothing in the harness holds a corpus.
    """
    words = [str(word) for word in command]
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        started = perf_counter()
        try:
            child = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=stdout if keep_output else subprocess.DEVNULL,
                stderr=stderr,
                env={**os.environ, **(env or {})},
                cwd=cwd,
            )
        except OSError as error:
            raise CommandFailed(f"{words[0]} does not start: {error.strerror}") from error
        timed_out = threading.Event()
        usage = _wait(child, timeout, timed_out)
        wall = perf_counter() - started
        if timed_out.is_set():
            raise CommandFailed(f"{_short(words)}: no end after {timeout:.0f} s")
        if child.returncode != 0:
            raise CommandFailed(f"{_short(words)}: exit status {child.returncode}: {_tail(stderr)}")
        stdout.seek(0)
        return Finished(stdout.read().decode(), wall, usage.ru_maxrss * MAXRSS_UNIT / 1e6)


def _wait(child: subprocess.Popen, timeout: float, timed_out: threading.Event):
    """Reaps the child with wait4, which alone gives the usage of this one child."""

    def kill() -> None:
        timed_out.set()
        os.kill(child.pid, signal.SIGKILL)

    timer = threading.Timer(timeout, kill)
    timer.daemon = True
    timer.start()
    try:
        _, status, usage = os.wait4(child.pid, 0)
    except BaseException:  # Ctrl-C: leave no child behind
        child.kill()
        child.wait()
        raise
    finally:
        timer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage


def _short(words: Sequence[str]) -> str:
    return " ".join([Path(words[0]).name, *words[1:3]])


def _tail(stream) -> str:
    stream.seek(0)
    lines = stream.read().decode(errors="replace").strip().splitlines()
    return " / ".join(line.strip() for line in lines[-3:]) or "no message"
