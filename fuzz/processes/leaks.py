"""Search files of any size for the text of tokens, codes, secrets and passwords."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from fuzz.processes.failures import InvariantBroken
from fuzz.shared.invariants import NO_SECRETS


def look_for_secrets(files: Iterable[Path], secrets: Iterable[str]) -> None:
    """Raise `InvariantBroken` if a file contains one."""
    command = ["grep", "--fixed-strings", "--text", "--only-matching", "-Hn", "--file=-", *map(str, files)]
    found = subprocess.run(command, input="\n".join(secrets).encode(), capture_output=True, check=False)
    if found.returncode > 1:
        raise RuntimeError(found.stderr.decode())
    for line in found.stdout.splitlines():
        file, number, _ = line.decode().split(":", 2)
        raise InvariantBroken(f"line {number} of {file} holds the text of a secret", NO_SECRETS)
