"""The environments that the peers run in, made under build/ from pinned lists with hashes.

They are no dependencies of this project: what cannot be had is left out of the run, and the report says so.
"""

import shutil
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
_INSTALLED: Final = Path(__file__).parents[3] / "build" / "bench-peers"
_INSTALL_SECONDS: Final = 300


class Unavailable(Exception):
    """A peer cannot be had on this machine; says why."""


def python_of_peers() -> Path:
    """The interpreter of an environment with what `requirements.txt` names."""
    made = _python_environment()
    if isinstance(made, Unavailable):
        raise made
    return made


@cache
def _python_environment() -> Path | Unavailable:
    """Tried once, as three servers ask for it."""
    try:
        return _made_environment()
    except Unavailable as reason:
        return reason


def _made_environment() -> Path:
    lock = HERE / "requirements.txt"
    folder = _INSTALLED / f"python-{_version_of(lock, sys.version)}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        _run(sys.executable, "-m", "venv", "--clear", str(folder))
        install = (str(python), "-m", "pip", "install", "--quiet", "--retries", "1", "--require-hashes")
        _run(*install, "-r", str(lock))
        (folder / "complete").touch()
    return python


def node_programs() -> tuple[Path, Path]:
    """Node, and the folder of the programs beside the packages that they import."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise Unavailable("no node and npm on PATH")
    folder = _INSTALLED / f"node-{_version_of(HERE / 'package-lock.json', '')}"
    if not (folder / "node_modules" / ".package-lock.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, folder)
        _run(npm, "ci", "--ignore-scripts", "--silent", "--fetch-retries=1", folder=folder)
    for program in HERE.glob("*.mjs"):
        shutil.copy(program, folder)
    return Path(node), folder


def _version_of(lock: Path, interpreter: str) -> str:
    return sha256(lock.read_bytes() + interpreter.encode()).hexdigest()[:16]


def _run(*command: str, folder: Path | None = None) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{command[0]} did not end within {_INSTALL_SECONDS} s") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Unavailable(said[-1][-300:] if said else f"{command[0]} failed")
