"""The consent page at `/sso`: whether an application may sign the user in ("Browser behaviour")."""

from urllib.parse import urlsplit

from quart import Blueprint, Response, request

from ostiary_core.events import ConsentDenied, ConsentGiven, ConsentRecalled
from ostiary_core.http.authorization import read_query, scope_text
from ostiary_core.model.decision import AuthorizationOffered, CodeIssued, ConsentRefused, Refused, Reply
from ostiary_core.model.why import Why
from ostiary_web.browser import FORM_FIELD, proves_origin
from ostiary_web.pages.addresses import (
    origin_of,
    other_sign_in_page,
    password_page,
    see_other,
    sign_in_page,
    this_address,
)
from ostiary_web.pages.visit import Visit, open_visit, page

__all__ = ["consent"]

consent = Blueprint("consent", __name__)


@consent.get("/sso")
async def show_consent() -> Response:
    """An authorization request: the question, or straight on where nobody needs to be asked."""
    visit = await open_visit()
    if visit.who is None or visit.user is None:
        return visit.keep(see_other(sign_in_page(this_address())))
    parameters = read_query(request.query_string)
    decision = await visit.here.decide(
        ConsentRecalled(caller=visit.who, parameters=parameters, entropy=visit.here.entropy())
    )
    return await _answer(visit, decision.reply, parameters.redirect_uri)


@consent.post("/sso")
async def take_consent() -> Response:
    """The user's yes or no; the browser goes to the client with a 303, so its form stays here."""
    visit = await open_visit()
    visit.again = this_address()
    if visit.who is None or visit.user is None:
        return visit.keep(see_other(sign_in_page(this_address())))
    parameters = read_query(request.query_string)
    form = await request.form
    if not proves_origin(form.get(FORM_FIELD, "")):
        return await page(visit, "expired.html", refused=Why.ORIGIN_UNPROVEN, again=this_address())
    match form.get("decision"):
        case "approve":
            event: ConsentGiven | ConsentDenied = ConsentGiven(
                caller=visit.who, parameters=parameters, entropy=visit.here.entropy()
            )
        case "deny":
            event = ConsentDenied(caller=visit.who, parameters=parameters)
        case _:
            return await page(visit, "consent_error.html", refused=Why.FIELDS_INVALID)
    reply = (await visit.here.decide(event)).reply
    return await _answer(visit, reply, parameters.redirect_uri)


async def _answer(visit: Visit, reply: Reply, redirect_uri: str | None) -> Response:
    match reply:
        case CodeIssued(redirect_to=redirect_to):
            return visit.keep(see_other(redirect_to.reveal()))
        case ConsentRefused(redirect_to=address):
            return visit.keep(see_other(address))
        case AuthorizationOffered() as offered:
            return await page(
                visit,
                "consent.html",
                form_origin=origin_of(redirect_uri or ""),
                offered=offered,
                scopes=[scope_text(scope.scope, visit.language) for scope in offered.scopes],
                destination=urlsplit(redirect_uri or "").netloc,
                action=this_address(),
                switch=other_sign_in_page(this_address()),
            )
        case Refused(why=Why.PASSWORD_MUST_CHANGE):
            return visit.keep(see_other(password_page(this_address())))
        case Refused(why=Why.NOT_SIGNED_IN):
            return visit.keep(see_other(sign_in_page(this_address())))
        case Refused() as refused:
            return await page(visit, "consent_error.html", refused=refused)
        case _:
            return await page(visit, "consent_error.html", refused=Why.INTERNAL_ERROR)
