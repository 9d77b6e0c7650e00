"""Installs the replacements under the names of the packages that they stand in for."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_MARK = "# Made by: python -m crfkit.compat install\n"
# The modules of each package, and where they are.
_PACKAGES: dict[str, dict[str, str]] = {
    "pycrfsuite": {
        "__init__": "crfkit.compat.pycrfsuite",
        "_dumpparser": "crfkit.compat.pycrfsuite._dumpparser",
        "_logparser": "crfkit.compat.pycrfsuite._logparser",
    },
    "sklearn_crfsuite": {
        "__init__": "crfkit.compat.sklearn_crfsuite",
        "estimator": "crfkit.compat.sklearn_crfsuite.estimator",
        "metrics": "crfkit.compat.sklearn_crfsuite.metrics",
        "scorers": "crfkit.compat.sklearn_crfsuite.scorers",
        "trainer": "crfkit.compat.sklearn_crfsuite.trainer",
        "utils": "crfkit.compat.sklearn_crfsuite.utils",
    },
}


def install(directory: Path) -> list[Path]:
    """Write the packages to a directory. A package that is there already and is not one of ours raises ``FileExistsError``."""
    for package in _PACKAGES:
        found = directory / package
        ours = (found / "__init__.py").is_file() and (found / "__init__.py").read_text("utf-8").startswith(_MARK)
        if found.exists() and not ours:
            raise FileExistsError(f"{found} is there already: remove that package, or choose another directory")
    written = []
    for package, modules in _PACKAGES.items():
        (directory / package).mkdir(parents=True, exist_ok=True)
        for name, source in modules.items():
            path = directory / package / f"{name}.py"
            path.write_text(f"{_MARK}from {source} import *  # noqa: F403\n", "utf-8")
            written.append(path)
    return written


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m crfkit.compat", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    verb = commands.add_parser("install", help="write the packages pycrfsuite and sklearn_crfsuite to a directory")
    verb.add_argument("directory", type=Path, help="a directory that Python searches, as those of PYTHONPATH")
    options = parser.parse_args(arguments)
    try:
        for path in install(options.directory):
            print(path)
    except OSError as error:
        print(f"crfkit.compat: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
