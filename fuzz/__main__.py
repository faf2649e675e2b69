"""`python -m fuzz`."""

import sys

from fuzz.command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
