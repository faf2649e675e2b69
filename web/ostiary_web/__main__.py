"""`ostiary`, and `python -m ostiary_web`: the command line, or one line where what it needs is missing."""

import sys


def main() -> None:
    """Run the command line. Who installed the core alone has the command and none of what it stands on."""
    try:
        from ostiary_web.cli.command_line import main as command_line
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("ostiary"):
            raise
        sys.exit(f"ostiary: the command line needs {missing.name} and more: pip install 'ostiary[server]'")
    command_line()


if __name__ == "__main__":
    main()
