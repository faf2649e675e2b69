"""Hold what the application works with while it runs."""

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
class AppServices:
    """What the application works with while it runs; `wiring` makes it."""

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
    """Instant since which they are open."""
    first_administrator: NewAdministrator | UnusedAdministrator | None
    """The first administrator, if this start made one or they never signed in."""


def attach_services(application: Quart, services: AppServices) -> None:
    """Have an application work with `services` from now on."""
    application.extensions[_KEY] = services


def current_services() -> AppServices:
    """Return the services of the current request's application."""
    found: AppServices = current_app.extensions[_KEY]
    return found
