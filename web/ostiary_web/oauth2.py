"""`/api/oauth2/*`: the token service, user-info, and what the consent page calls."""

from quart import Blueprint, Response, request

from ostiary_core.events import (
    AccountRequested,
    AuthorizationChecked,
    ConsentDenied,
    ConsentGiven,
    ProfileRequested,
)
from ostiary_core.http import authorization, token_service, userinfo
from ostiary_core.model.decision import Refused
from ostiary_core.model.why import Why
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.browser import FORM_HEADER, caller, cookie_caller, form_token, hand_out_form_cookie
from ostiary_web.exchange import exchange, json_object, limited, respond

__all__ = ["oauth2"]

oauth2 = Blueprint("oauth2", __name__)


async def _answer() -> Response:
    """The four operations, as the core means them."""
    here = exchange()
    return respond(await here.service.answer(await here.request(), here.trace_id))


for _path, _operation in token_service.PATHS.items():
    oauth2.add_url_rule(_path, _operation.name.lower(), _answer, methods=["POST"])


@oauth2.get(userinfo.PATH)
async def show_userinfo() -> Response:
    """The caller's profile; a browser's own login session may ask by its cookie."""
    here = exchange()
    by_cookie = cookie_caller()
    if "authorization" in request.headers or by_cookie is None:
        return await _answer()
    decision = await here.decide(ProfileRequested(access_token=by_cookie.access_token, by_cookie=True))
    return respond(userinfo.answer(decision, language=here.language, trace_id=here.trace_id))


@oauth2.get("/api/oauth2/authorize")
@limited(Operation.AUTHORIZE_CHECK)
async def check_authorization() -> Response:
    """Whether an authorization request is in order, and what to show the user."""
    here = exchange()
    who = caller(here)
    if isinstance(who, Why):
        return here.refuse(who)
    parameters = authorization.read_query(request.query_string)
    decision = await here.decide(AuthorizationChecked(caller=who, parameters=parameters))
    if isinstance(decision.reply, Refused):
        return here.refused(decision.reply)
    response = respond(authorization.answer(decision, language=here.language, trace_id=here.trace_id))
    if "authorization" in request.headers:
        return response
    response.headers[FORM_HEADER] = form_token(here)
    return hand_out_form_cookie(response)


@oauth2.post("/api/oauth2/authorize")
@limited(Operation.AUTHORIZE_DECIDE)
async def decide_authorization() -> Response:
    """The user's yes or no; the answer says where to send the browser."""
    here = exchange()
    who = caller(here)
    if isinstance(who, Why):
        return here.refuse(who)
    known = (await here.decide(AccountRequested(caller=who))).reply
    if isinstance(known, Refused):
        return here.refused(known)
    content = await json_object()
    if isinstance(content, Why):
        return here.refuse(content)
    asked = authorization.read_body(content)
    if isinstance(asked, list):
        return here.refuse(Why.FIELDS_INVALID, asked)
    decision = await here.decide(
        ConsentGiven(caller=who, parameters=asked.parameters, entropy=here.entropy())
        if asked.approve
        else ConsentDenied(caller=who, parameters=asked.parameters)
    )
    if isinstance(decision.reply, Refused):
        return here.refused(decision.reply)
    return respond(authorization.answer(decision, language=here.language, trace_id=here.trace_id))
