"""`python -m ostiary_web` is `ostiary`."""

from ostiary_web.command_line import main

main()
