"""Collect the commands, each of which is imported when it is asked for.

To import the application costs as much as a short command does, so `ostiary --help` goes without it.
"""

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "apply": (
            "apply:apply",
            "Apply the clients and roles that the TOML in FILE declares: all of them, or none.",
        ),
        "audit": ("audit:audit", "Work with the audit trail as a whole."),
        "backup": (
            "backup:backup",
            "Copy the database to FILE, which must not exist; - for standard output.",
        ),
        "check": ("check:check", "Check settings, files, database, clock and clients."),
        "client": ("clients:client", "Register and administer clients."),
        "compact": (
            "backup:compact",
            "Give the space of erased records in the SQLite file back to the disk.",
        ),
        "copy": (
            "copy:copy",
            (
                "Copy every record and the audit trail of the SQLite file FROM"
                " to the empty PostgreSQL database TO."
            ),
        ),
        "end-everything": (
            "ending:end_everything_command",
            "End every session and void every code, as after a restore, or when the database was copied.",
        ),
        "explain": (
            "explain:explain_session",
            "Tell the history of each SESSION in order, and how and why it ended.",
        ),
        "export": (
            "apply:export",
            "Print all clients and roles as the TOML that `ostiary apply` takes, without any secret.",
        ),
        "migrate": (
            "serving:migrate",
            "Bring the store's schema up to date, and make the first administrator if there is none.",
        ),
        "restore": (
            "backup:restore",
            "Make the database from FILE; none may exist yet; - for standard input.",
        ),
        "role": ("roles:role", "See the roles that users are given."),
        "serve": ("serving:serve", "Serve HTTP until SIGTERM, SIGINT or SIGHUP."),
        "session": (
            "sessions:session",
            "See and end the sessions that run; `ostiary explain` shows the history of any.",
        ),
        "sweep": (
            "sweep:sweep",
            "Purge what has expired: salts, codes, sessions that are long dead, and their tokens.",
        ),
        "user": ("users:user", "Register and administer users."),
        "work": ("serving:work", ""),
    }
)
"""Module and function of each command, and the beginning of its help; a hidden one has none."""


class CommandLine(click.Group):
    """The commands, each of which ends with one line for what the machine does to it."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command that was asked for."""
        from ostiary_web.cli.last_line import end_with_one_line

        run = super().invoke
        return end_with_one_line(lambda: run(context), lambda: context.invoked_subcommand)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in order."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported if it was not yet; None for an unknown one."""
        return self._load(cmd_name) if cmd_name in COMMANDS else None

    def load_all(self) -> Mapping[str, click.Command]:
        """Import all commands and return them by name."""
        return {name: self._load(name) for name in sorted(COMMANDS)}

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command without importing any."""
        named = [
            CompletionItem(name, help=words)
            for name, (_, words) in sorted(COMMANDS.items())
            if words and name.startswith(incomplete)
        ]
        return [*named, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        rows = [
            (name, click.Command(name, help=words).get_short_help_str(limit))
            for name, (_, words) in sorted(COMMANDS.items())
            if words
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _load(self, name: str) -> click.Command:
        if name not in self.commands:
            module, _, function = COMMANDS[name][0].partition(":")
            command = getattr(importlib.import_module(f"ostiary_web.cli.{module}"), function)
            self.add_command(command, name)
        return self.commands[name]


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ostiary", prog_name="ostiary")
def main() -> None:
    """Serve and administer OAuth 2.0. Settings come from the environment."""
