"""Run `ostiary role …`: sets of permissions, which `ostiary apply` declares."""

from typing import Final

import click

from ostiary_core import events
from ostiary_web.application.resources.roles import RESOURCE
from ostiary_web.cli.printing import columns
from ostiary_web.cli.record_commands import RecordCommands

_LABELS: Final = columns(RESOURCE.list_view, "code", "name", "builtIn", "permissions")


@click.group()
def role() -> None:
    """See the roles that users are given."""


_COMMANDS: Final = RecordCommands(
    group=role,
    resource=RESOURCE,
    argument="role",
    find=lambda context, role_id: role_id,
    labels=_LABELS,
    listed=_LABELS,
)
_COMMANDS.add_list("List the roles that fit all options.", {})
_COMMANDS.add_action("show", events.RoleRequested, "Show each ROLE, by its code.")
