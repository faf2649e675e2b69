"""Serve `/api/auth/sign-ins` and `/api/auth/logout-elsewhere`: for a user who fears for the account."""

from typing import Annotated

from msgspec import Meta

from ostiary_core.events import OtherSessionsEnded
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import iso_time
from ostiary_web.api.resources.routes import add_event_route
from ostiary_web.application.answer_data import AnswerData, Time
from ostiary_web.application.sign_ins import list_sign_ins
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import SIGNED_IN, GatedRoutes

sign_ins = GatedRoutes("sign_ins", __name__)


class SignIn(AnswerData):
    """A sign-in of the user, or an attempt that failed."""

    at: Time
    succeeded: Annotated[
        bool,
        Meta(description="False for a wrong password or code, no code, or a disabled account."),
    ]
    ip: str | None
    user_agent: str | None


@sign_ins.get("/api/auth/sign-ins", gate=SIGNED_IN)
async def get_sign_ins(context: RequestContext) -> list[SignIn]:
    """List the caller's newest sign-ins and failed ones, at most 50, as far as the audit trail is kept."""
    return [
        SignIn(
            at=iso_time(entry.at),
            succeeded=entry.kind is FactKind.SESSION_STARTED,
            ip=entry.source,
            user_agent=entry.user_agent,
        )
        for entry in await list_sign_ins(context)
    ]


add_event_route(sign_ins, "POST", "/api/auth/logout-elsewhere", OtherSessionsEnded, SIGNED_IN)
