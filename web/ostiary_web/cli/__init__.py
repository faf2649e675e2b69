"""Commands with which an operator works on the records, beside a running server or without one.

They ask for the same events as the interface and are held to the same rules; only permissions are not
asked for (`Operator`). Secrets and drawn passwords are printed once, and no password is an argument, where
every process of the machine could read it.
"""

from ostiary_web.cli.apply import apply, export
from ostiary_web.cli.audit import audit
from ostiary_web.cli.backup import backup, compact, restore
from ostiary_web.cli.check import check
from ostiary_web.cli.clients import client
from ostiary_web.cli.copy import copy
from ostiary_web.cli.ending import end_everything_command
from ostiary_web.cli.explain import explain_session
from ostiary_web.cli.replay import replay_trail
from ostiary_web.cli.sweep import sweep
from ostiary_web.cli.users import user

__all__ = [
    "apply",
    "audit",
    "backup",
    "check",
    "client",
    "compact",
    "copy",
    "end_everything_command",
    "explain_session",
    "export",
    "replay_trail",
    "restore",
    "sweep",
    "user",
]
