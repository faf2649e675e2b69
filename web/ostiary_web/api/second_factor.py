"""Serve the second factor of `/api/auth/*`: the second step of a sign-in, and the caller's own."""

from typing import Final

from quart import Response

from ostiary_core.model.instant import iso_time
from ostiary_core.model.user import LONGEST_PASSWORD
from ostiary_core.throttling.rate_windows import Operation
from ostiary_web.api.auth import encode_login
from ostiary_web.api.body_texts import longest, read_texts
from ostiary_web.application.answer_data import AnswerData, Count, Time
from ostiary_web.application.second_factor import (
    LONGEST_CODE,
    LONGEST_TICKET,
    RecoveryCodes,
    SecondFactorSecret,
    begin,
    begin_at_sign_in,
    confirm,
    count_own_recovery_codes,
    finish_sign_in,
    prove_identity,
    remove,
    renew_recovery_codes,
)
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import BEFORE_SECOND_FACTOR, CLOSED_TO_OTHER_SITES, SIGNED_IN, GatedRoutes

second_factor = GatedRoutes("second_factor", __name__)
_STEP: Final = "/api/auth/login/second-factor"
_OWN: Final = "/api/auth/second-factor"


class SecondFactorLeft(AnswerData):
    """A second factor, by what is left of it."""

    recovery_codes_left: Count


class IdentityProof(AnswerData):
    """Until when the proof of this login session counts."""

    proved_until: Time


@second_factor.post(_STEP, gate=CLOSED_TO_OTHER_SITES, limit=Operation.SIGN_IN)
async def post_code(context: RequestContext) -> Response:
    """Read `{ticket, code}` and answer a pair of tokens."""
    fields = await read_texts(context, ticket=longest(LONGEST_TICKET), code=longest(LONGEST_CODE))
    return encode_login(context, await finish_sign_in(context, fields["ticket"], fields["code"]))


@second_factor.post(f"{_STEP}/set-up", gate=CLOSED_TO_OTHER_SITES, limit=Operation.SIGN_IN)
async def post_ticket(context: RequestContext) -> SecondFactorSecret:
    """Read `{ticket}` and answer a second factor, which the code of the sign-in confirms."""
    fields = await read_texts(context, ticket=longest(LONGEST_TICKET))
    return await begin_at_sign_in(context, fields["ticket"])


@second_factor.get(_OWN, gate=SIGNED_IN)
async def get_second_factor(context: RequestContext) -> SecondFactorLeft:
    """Say how many recovery codes the caller's second factor has left; 404 if there is none."""
    return SecondFactorLeft(recovery_codes_left=await count_own_recovery_codes(context))


@second_factor.post(_OWN, gate=BEFORE_SECOND_FACTOR)
async def post_second_factor(context: RequestContext) -> SecondFactorSecret:
    """Read `{password}` and answer a second factor, which a first code confirms."""
    fields = await read_texts(context, password=longest(LONGEST_PASSWORD))
    return await begin(context, fields["password"])


@second_factor.put(_OWN, gate=BEFORE_SECOND_FACTOR)
async def put_second_factor(context: RequestContext) -> None:
    """Read `{code}` and take the second factor into use; every other session of the user ends."""
    fields = await read_texts(context, code=longest(LONGEST_CODE))
    await confirm(context, fields["code"])


@second_factor.delete(_OWN, gate=SIGNED_IN)
async def delete_second_factor(context: RequestContext) -> None:
    """Read `{password, code}` and remove the second factor; every other session of the user ends."""
    fields = await read_texts(context, password=longest(LONGEST_PASSWORD), code=longest(LONGEST_CODE))
    await remove(context, fields["password"], fields["code"])


@second_factor.post(f"{_OWN}/recovery-codes", gate=SIGNED_IN)
async def post_recovery_codes(context: RequestContext) -> RecoveryCodes:
    """Read `{password, code}` and answer new recovery codes; those before stop working."""
    fields = await read_texts(context, password=longest(LONGEST_PASSWORD), code=longest(LONGEST_CODE))
    return await renew_recovery_codes(context, fields["password"], fields["code"])


@second_factor.post("/api/auth/prove", gate=SIGNED_IN)
async def post_proof(context: RequestContext) -> IdentityProof:
    """Read `{password}`, or `{code}` of a user with a second factor, and prove who uses this session."""
    name, most = ("code", LONGEST_CODE) if context.user.has_second_factor else ("password", LONGEST_PASSWORD)
    fields = await read_texts(context, **{name: longest(most)})
    until = await prove_identity(context, fields.get("password"), fields.get("code"))
    return IdentityProof(iso_time(until))
