"""`python -m fuzz.parsers.guided TARGET [libFuzzer's own arguments]`: one target under atheris.

The server is imported under atheris' eyes, so that it knows which lines an input reaches.
"""

import importlib
import sys
from typing import Any


def main() -> None:
    """Never returns: libFuzzer ends the process."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["ostiary_core", "ostiary_net", "ostiary_web"]):
        running = importlib.import_module("fuzz.parsers.running")
    target = running.target_named(sys.argv[1])
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target.judge)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
