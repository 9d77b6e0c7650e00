"""Reports of a training run: the caller's function, and a progress bar where one can be seen."""

from __future__ import annotations

import contextlib
import sys
from typing import Any, Callable, Iterator

import numpy as np

Callback = Callable[[dict[str, Any]], Any]


def _bar(progress: bool | str) -> Any:
    if not (isinstance(progress, str) and progress == "auto") and not (isinstance(progress, (int, np.bool_)) and progress in (0, 1)):
        raise TypeError(f'progress is {progress!r}: give True, False or "auto"')
    if not (_is_seen() if progress == "auto" else progress):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(unit=" passes", bar_format="{desc}{n:.1f}{unit} [{elapsed}] {postfix}")


def _is_seen() -> bool:
    """Whether somebody would see a bar: on a terminal, or in a notebook, whose output is not a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    # Only the shell of a notebook has a kernel.
    return getattr(shell, "kernel", None) is not None


@contextlib.contextmanager
def reporter(progress: bool | str, callback: Callback | None) -> Iterator[Callback | None]:
    """The function to call at every report; ``None`` if nobody wants one."""
    bar = _bar(progress)
    if bar is None and callback is None:
        yield None
        return

    def report(state: dict[str, Any]) -> bool:
        if bar is not None:
            bar.n = state["passes"]
            bar.set_postfix({name: value for name, value in state.items() if name != "passes" and value is not None})
        answer = None if callback is None else callback(state)
        # Functions that return nothing, or a number such as 0, do not mean to stop.
        return not (isinstance(answer, (bool, np.bool_)) and not answer)

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()
