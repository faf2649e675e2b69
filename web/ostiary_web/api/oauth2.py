"""Serve `/api/oauth2/*`: the token service, user-info, and what the consent page calls."""

from quart import Response, request

from ostiary_core.events import AuthorizationChecked, ConsentDenied, ConsentGiven, Event, ProfileRequested
from ostiary_core.http import authorization, token_service, userinfo
from ostiary_core.model.reply import Refused
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.http.browser import FORM_HEADER, form_token, hand_out_form_cookie, read_caller_cookie
from ostiary_web.http.context import RequestContext, RequestRefused, respond
from ostiary_web.http.gate import BEFORE_PASSWORD_CHANGE, LOGIN_TOKEN, OPEN_TO_ALL, GatedRoutes

oauth2 = GatedRoutes("oauth2", __name__)


async def _answer(context: RequestContext) -> Response:
    """Answer one of the four operations as the core does."""
    return respond(await context.service.answer(await context.request(), context.trace_id))


for _path, _operation in token_service.PATHS.items():
    oauth2.add_url_rule(_path, _operation.name.lower(), _answer, methods=["POST"], gate=OPEN_TO_ALL)


@oauth2.get(userinfo.PATH, gate=OPEN_TO_ALL)
async def show_userinfo(context: RequestContext) -> Response:
    """Answer the caller's profile; a browser's own login session may ask by its cookie."""
    by_cookie = read_caller_cookie()
    if "authorization" in request.headers or by_cookie is None:
        return await _answer(context)
    decision = await context.submit(ProfileRequested(access_token=by_cookie.access_token, by_cookie=True))
    return respond(userinfo.answer(decision, language=context.language, trace_id=context.trace_id))


@oauth2.get("/api/oauth2/authorize", gate=LOGIN_TOKEN, limit=Operation.AUTHORIZE_CHECK)
async def check_authorization(context: RequestContext) -> Response:
    """Answer whether an authorization request is valid, and what to show the user."""
    parameters = authorization.read_query(request.query_string)
    response = await _authorization(
        context, AuthorizationChecked(caller=context.caller, parameters=parameters)
    )
    if "authorization" in request.headers:
        return response
    response.headers[FORM_HEADER] = form_token(context)
    return hand_out_form_cookie(response)


@oauth2.post("/api/oauth2/authorize", gate=BEFORE_PASSWORD_CHANGE, limit=Operation.AUTHORIZE_DECIDE)
async def decide_authorization(context: RequestContext) -> Response:
    """Read the user's approval or denial; answer where to send the browser."""
    asked = authorization.read_body(await context.json_object())
    if isinstance(asked, list):
        context.refuse(Why.FIELDS_INVALID, asked)
    return await _authorization(
        context,
        ConsentGiven(caller=context.caller, parameters=asked.parameters, entropy=context.draw_entropy())
        if asked.approve
        else ConsentDenied(caller=context.caller, parameters=asked.parameters),
    )


async def _authorization(context: RequestContext, event: Event) -> Response:
    """Answer what the core says of an authorization request; raise `RequestRefused`."""
    decision = await context.submit(event)
    if isinstance(decision.reply, Refused):
        raise RequestRefused(decision.reply)
    return respond(authorization.answer(decision, language=context.language, trace_id=context.trace_id))
