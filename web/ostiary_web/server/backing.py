"""What stands behind the application while it runs, and how a request gets at it."""

from dataclasses import dataclass

from quart import Quart, current_app

from ostiary_core.model.instant import Instant
from ostiary_net.runtime.files import Files
from ostiary_net.runtime.passwords import Passwords
from ostiary_net.runtime.text_messages import TextMessages
from ostiary_net.turns.service import Service
from ostiary_web.server.checks import SelfCheck
from ostiary_web.server.first_administrator import NewAdministrator, UnusedAdministrator
from ostiary_web.server.import_runs import ImportRuns
from ostiary_web.server.readiness import Readiness
from ostiary_web.server.settings import Settings
from ostiary_web.server.submissions import Submissions
from ostiary_web.sheets.reader import ReadSheet

_KEY = "ostiary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backing:
    """What stands behind the application while it runs; `wiring` puts it together."""

    settings: Settings
    service: Service
    passwords: Passwords
    text_messages: TextMessages
    files: Files
    read_sheet: ReadSheet
    submissions: Submissions
    import_runs: ImportRuns
    readiness: Readiness
    self_check: SelfCheck
    started_at: Instant
    """When it began to stand there."""
    first_administrator: NewAdministrator | UnusedAdministrator | None
    """The first administrator, where this start made one, or where they have never signed in."""


def put_behind(application: Quart, backing: Backing) -> None:
    """Have an application work with `backing` from now on."""
    application.extensions[_KEY] = backing


def backing() -> Backing:
    """What stands behind the application that the present request is for."""
    found: Backing = current_app.extensions[_KEY]
    return found
