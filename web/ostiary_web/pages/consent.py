"""The consent page at `/sso`: whether an application may sign the user in ("Browser behaviour")."""

from urllib.parse import urlsplit

from quart import Response, request
from werkzeug.exceptions import MethodNotAllowed

from ostiary_core import events
from ostiary_core.http.authorization import read_query, scope_text
from ostiary_core.http.envelope import field_text
from ostiary_core.model.reply import AuthorizationOffered, CodeIssued, ConsentRefused, Refused
from ostiary_core.model.why import Why
from ostiary_web.http.gate import BEFORE_PASSWORD_CHANGE
from ostiary_web.pages.addresses import (
    other_sign_in_page,
    password_page,
    second_factor_page,
    sign_in_page,
    this_address,
)
from ostiary_web.pages.context import FORMS_LEAD_AWAY, PageContext, render
from ostiary_web.pages.routes import PageRoutes

consent = PageRoutes("consent", __name__)


@consent.before_request
async def refuse_request_by_form() -> None:
    """Refuse an authorization request by POST, which RFC 6749 §3.1 leaves to the server.

    The sign-in before it would lose the parameters. The answer to our question has them in its address.
    """
    if request.method == "POST" and not request.query_string:
        raise MethodNotAllowed(["GET", "HEAD"])


@consent.get("/sso", gate=BEFORE_PASSWORD_CHANGE)
async def show_consent(page: PageContext) -> Response:
    """Show an authorization request's question, or redirect; HEAD issues no code (RFC 9110 §9.2.1)."""
    context, parameters = page.request, read_query(request.query_string)
    event: events.AutomaticConsentRequested | events.AuthorizationChecked
    if request.method == "HEAD":
        event = events.AuthorizationChecked(caller=context.caller, parameters=parameters)
    else:
        event = events.AutomaticConsentRequested(
            caller=context.caller, parameters=parameters, entropy=context.draw_entropy()
        )
    return await _answer(page, event, parameters.redirect_uri)


@consent.post("/sso", gate=BEFORE_PASSWORD_CHANGE)
async def decide_consent(page: PageContext) -> Response:
    """Decide the user's answer; the redirect is a 303, so the client never gets the form."""
    context, parameters = page.request, read_query(request.query_string)
    event: events.ConsentGiven | events.ConsentDenied
    match page.form.get("decision"):
        case "approve":
            event = events.ConsentGiven(
                caller=context.caller, parameters=parameters, entropy=context.draw_entropy()
            )
        case "deny":
            event = events.ConsentDenied(caller=context.caller, parameters=parameters)
        case _:
            return await render(page, "consent_error.html", refused=Why.FIELDS_INVALID)
    return await _answer(page, event, parameters.redirect_uri)


async def _answer(page: PageContext, event: events.Event, redirect_uri: str | None) -> Response:
    """Redirect as an authorization request is decided, or show the question."""
    match (await page.request.submit(event)).reply:
        case CodeIssued(redirect_to=redirect_to):
            return page.redirect(redirect_to.reveal())
        case ConsentRefused(redirect_to=address):
            return page.redirect(address)
        case AuthorizationOffered() as offered:
            return await render(
                page,
                "consent.html",
                policy=FORMS_LEAD_AWAY,
                offered=offered,
                scopes=[scope_text(scope.scope, page.language) for scope in offered.scopes],
                destination=urlsplit(redirect_uri or "").netloc,
                action=this_address(),
                switch=other_sign_in_page(this_address()),
            )
        case Refused(why=Why.PASSWORD_MUST_CHANGE):
            return page.redirect(password_page(this_address()))
        case Refused(why=Why.SECOND_FACTOR_REQUIRED):
            return page.redirect(second_factor_page(this_address()))
        case Refused(why=Why.NOT_SIGNED_IN):
            return page.redirect(sign_in_page(this_address()))
        case Refused() as refused:
            faults = [f"{fault.path}: {field_text(fault, page.language)}" for fault in refused.faults]
            return await render(page, "consent_error.html", refused=refused, faults=faults)
        case _:
            return await render(page, "consent_error.html", refused=Why.INTERNAL_ERROR)
