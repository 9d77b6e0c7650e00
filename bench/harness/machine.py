"""What a result must say about where it was measured."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from harness.process import CommandFailed, run
from harness.tools import REPOSITORY, SHORT_TIMEOUT


def describe_machine() -> dict:
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "load_average_at_start": [round(load, 2) for load in os.getloadavg()],
    }


def cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or platform.machine()


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def version_of(program: str | Path) -> str:
    """What `--version` prints, without the program's own name in front."""
    try:
        name, _, version = run([program, "--version"], timeout=SHORT_TIMEOUT).stdout.strip().partition(" ")
    except CommandFailed:
        return "unknown"
    return version or name


def git_commit() -> dict:
    """The commit under test, and whether files that git follows differ from it."""
    try:
        commit = run(["git", "rev-parse", "HEAD"], timeout=SHORT_TIMEOUT, cwd=REPOSITORY).stdout.strip()
        changes = run(["git", "status", "--porcelain", "-uno"], timeout=SHORT_TIMEOUT, cwd=REPOSITORY).stdout
    except CommandFailed:
        return {"commit": None, "modified": None}
    return {"commit": commit, "modified": bool(changes.strip())}
