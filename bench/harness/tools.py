"""Sets up the programs under test: the peers in a virtual environment of their own, crfkit from this source tree."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness.process import CommandFailed, Finished, run

BENCH = Path(__file__).resolve().parent.parent
REPOSITORY = BENCH.parent
VENV = BENCH / ".venv"

# The peers, with the compiler flags that serve each best. A wheel is made for every CPU of its kind and without -ffast-math,
# which costs CRFsuite more than half of its speed at 174 labels: comparing with it would flatter us.
PEERS = {
    "python-crfsuite": "-O3 -march=native -ffast-math",
    "libwapiti": "-O3 -march=native",
    "chaine": None,  # its newer releases exist as wheels only
    "pgmax": None,  # Python on JAX, which compiles for the machine it runs on
}
# PGMax asks for what its examples need too, a gigabyte and a half; this is what its belief propagation imports.
ONLY = {"pgmax": "jax jaxlib numpy scipy ml_dtypes opt_einsum joblib tqdm numba llvmlite".split()}
REQUIRED_PEER = "python-crfsuite"  # the others are measured where they install

# Peers from Cargo: what `cargo install` is to install, and the name of the program. crfs is a library alone.
CRATES = {
    "crfsuite-compliant-rs": (["crfsuite-compliant-rs"], "crfsuite-compliant-rs"),
    "crfs": (["--path", str(BENCH / "peers" / "crfs")], "crfs-peer"),
}
CRATE_FLAGS = "-C target-cpu=native"

INSTALL_TIMEOUT = 900
BUILD_TIMEOUT = 3600
SHORT_TIMEOUT = 60

Say = Callable[[str], None]


class SetupFailed(Exception):
    """The benchmark cannot start; the message says what to do."""


@dataclass
class Peers:
    """The other toolkits: a module of `bench/peers` that prints JSON, or a program."""

    python: Path
    versions: dict[str, str] = field(default_factory=dict)

    def has(self, package: str) -> bool:
        return package in self.versions

    def call(self, module: str, *arguments: str | Path, timeout: float) -> tuple[dict, Finished]:
        command = [self.python, "-m", f"peers.{module}", *arguments]
        finished = run(command, timeout=timeout, cwd=BENCH, env={"PYTHONHASHSEED": "0"})
        return json.loads(finished.stdout), finished

    def run(self, crate: str, *arguments: str | Path, timeout: float, keep_output: bool = True) -> Finished:
        program = self.python.parent / CRATES[crate][1]
        return run([program, *arguments], timeout=timeout, keep_output=keep_output)


def set_up_peers(say: Say) -> Peers:
    """Creates `bench/.venv` once and installs what is missing from it; delete the directory to get newer releases."""
    python = VENV / "bin" / "python"
    if not python.exists():
        say("creating bench/.venv")
        try:
            run([sys.executable, "-m", "venv", VENV], timeout=INSTALL_TIMEOUT)
        except CommandFailed as error:
            raise SetupFailed(f"no virtual environment (Debian, Ubuntu: apt install python3-venv): {error}") from error
    peers = Peers(python)
    for package, flags in PEERS.items():
        built = VENV / f"{package}.build"  # how it came here: pip does not remember
        if not built.exists():
            built.write_text(_install(python, package, flags, say), encoding="utf-8")
        if version := _installed_version(python, package):
            peers.versions[package] = f"{version} ({built.read_text(encoding='utf-8')})"
        elif package == REQUIRED_PEER:
            built.unlink()
            raise SetupFailed(f"{package}, which every row needs, does not install; pip's reason is above")
    for crate, (source, program) in CRATES.items():
        built = VENV / f"{crate}.build"
        if not built.exists():
            built.write_text(_install_crate(crate, source, say), encoding="utf-8")
        if version := _installed_crate(program):
            peers.versions[crate] = f"{version} ({built.read_text(encoding='utf-8')})"
    return peers


def _install(python: Path, package: str, flags: str | None, say: Say) -> str:
    """Compiled here if that works, else as a wheel; says which."""
    say(f"installing {package}")
    pip = [python, "-m", "pip", "install", "--quiet", package]
    if package in ONLY:
        pip += ["--no-deps", *ONLY[package]]
    if flags:
        from_source = ["--no-binary", package, "--no-cache-dir"]  # pip would reuse what it built with other flags
        try:
            run([*pip, *from_source], timeout=INSTALL_TIMEOUT, env={"CFLAGS": flags, "CXXFLAGS": flags})
            return f"compiled here with {flags}"
        except CommandFailed as error:
            say(f"{package} does not compile here, trying a wheel: {error}")
    try:
        run(pip, timeout=INSTALL_TIMEOUT)
        return "wheel"
    except CommandFailed as error:
        say(f"{package} does not install here: {error}")
        return "not installed"


def _install_crate(crate: str, source: list[str], say: Say) -> str:
    say(f"installing {crate}")
    command = ["cargo", "install", "--quiet", "--root", VENV, *source]
    try:
        run(command, timeout=BUILD_TIMEOUT, env={"RUSTFLAGS": CRATE_FLAGS, "CARGO_TARGET_DIR": str(VENV / "target")})
        return f"compiled here with {CRATE_FLAGS}"
    except CommandFailed as error:
        say(f"{crate} does not install here: {error}")
        return "not installed"


def _installed_crate(program: str) -> str | None:
    """The version of a program that Cargo put into the environment."""
    listing = run(["cargo", "install", "--list", "--root", VENV], timeout=SHORT_TIMEOUT).stdout
    found = [line.split() for line in listing.splitlines() if line.startswith(f"{program} v")]
    return found[0][1].removeprefix("v").rstrip(":") if found else None


def _installed_version(python: Path, package: str) -> str | None:
    program = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    try:
        return run([python, "-c", program, package], timeout=SHORT_TIMEOUT).stdout.strip()
    except CommandFailed:
        return None


def set_up_crfkit(say: Say) -> Path:
    """The program named by CRFKIT_BIN, else this source tree's, built with optimisation."""
    if chosen := os.environ.get("CRFKIT_BIN"):
        binary = Path(chosen).resolve()
        if not binary.is_file():
            raise SetupFailed("CRFKIT_BIN names no file; unset it to build crfkit from this source tree")
        return binary
    say("building crfkit (release)")
    try:
        return build("crfkit", "-p", "crfkit-cli")
    except CommandFailed as error:
        raise SetupFailed(f"crfkit does not build: {error}") from error


def build(program: str, *target: str) -> Path:
    """Builds a program of this source tree with optimisation."""
    command = ["cargo", "build", "--release", "--quiet", *target, "--message-format=json"]
    built = run(command, timeout=BUILD_TIMEOUT, cwd=REPOSITORY)
    for line in built.stdout.splitlines():
        # Cargo alone knows where the target directory is.
        artifact = json.loads(line)
        if artifact.get("executable") and artifact["target"]["name"] == program:
            return Path(artifact["executable"])
    raise CommandFailed(f"cargo built no program called {program}")
