"""The commands by which whoever runs the machine works on its records, beside a running server or without.

They ask for the same events as the interface and are held to the same rules; only permissions are not
asked for (`Operator`). Secrets and drawn passwords are printed once, and no password is an argument, where
every process of the machine could read it.
"""

from ostiary_web.commands.backup import backup, restore
from ostiary_web.commands.check import check
from ostiary_web.commands.clients import client
from ostiary_web.commands.copy import copy
from ostiary_web.commands.demo import demo
from ostiary_web.commands.life import explain_session
from ostiary_web.commands.people import user
from ostiary_web.commands.replay import replay_trail
from ostiary_web.commands.sweep import sweep
from ostiary_web.commands.trail import audit

__all__ = [
    "audit",
    "backup",
    "check",
    "client",
    "copy",
    "demo",
    "explain_session",
    "replay_trail",
    "restore",
    "sweep",
    "user",
]
