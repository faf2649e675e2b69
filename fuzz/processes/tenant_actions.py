"""Actions of a tenant, one after another, and its resolution of a lost answer.

After a lost answer, only results that are right in both cases are accepted.
"""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Final

from fuzz.processes import api
from fuzz.processes.tenant import OTHER_AGENT, Pending, Session, Tenant
from fuzz.shared.calls import AnswerKind, Verb
from fuzz.shared.http_client import json_request

_MOST_LIVE: Final = 4
_RACED: Final = 0.3
"""Share of repeatable calls that are sent over all connections at once."""


async def act(tenant: Tenant) -> None:
    """Do one action. Raises `Lost` if its answer did not come; `resolve` must follow."""
    [action] = tenant.random.choices([*_WEIGHTS], [*_WEIGHTS.values()])
    if len(tenant.live) >= _MOST_LIVE:
        action = tenant.random.choice([revoke, refresh])
    await action(tenant)


def _choose_times(tenant: Tenant) -> int:
    return len(tenant.connections) if tenant.random.random() < _RACED else 1


async def _ask_for_machine(tenant: Tenant) -> None:
    tenant.begin(await tenant.get(Verb.CLIENT_CREDENTIALS))
    tenant.acknowledge(Verb.CLIENT_CREDENTIALS)


async def authorize(tenant: Tenant) -> None:
    """Begin a session with a code."""
    await tenant.sign_in_if_need_be()
    tenant.drawn += 1
    verifier = sha256(f"{tenant.client_id} {tenant.drawn} {tenant.random.random()}".encode()).hexdigest()
    answer = await tenant.send(api.make_approval(tenant.login, tenant.client_id, verifier))
    code = tenant.keep(tenant.expect(answer, Verb.APPROVE).code)
    call = api.make_redemption(tenant.client_id, tenant.secret, code, verifier)
    tenant.used_codes.append(call)
    tenant.expect_loss(call)
    times = _choose_times(tenant)
    tenant.enter(await tenant.race(call, times), times)


async def refresh(tenant: Tenant) -> None:
    """Rotate a session."""
    session = tenant.choose_session()
    if session is not None:
        call = tenant.call(Verb.REFRESH, token=session.refresh)
        pending = tenant.expect_loss(call, rotates=session)
        tenant.rotate(session, await tenant.race(call, _choose_times(tenant)), pending.since)


async def _retry(tenant: Tenant) -> None:
    session = tenant.choose_session()
    if session is None or session.spent is None or tenant.is_late(session.rotated):
        return
    answer = await tenant.ask(Verb.REFRESH, token=session.spent[1])
    tenant.expect_same_pair(session, answer, "a retry within the grace")
    tenant.ledger.report.counts["checks"] += 1


async def revoke(tenant: Tenant) -> None:
    """End a session."""
    if tenant.live:
        session = tenant.random.choice(tenant.live)
        await tenant.change(Verb.REVOKE, [session], token=tenant.random.choice(session.tokens))


async def _replay(tenant: Tenant) -> None:
    session = tenant.choose_session()
    if session is None or session.spent is None:
        return
    call = tenant.call(Verb.REFRESH, token=session.spent[1], user_agent=OTHER_AGENT)
    tenant.expect_loss(call, [session])
    tenant.expect_refusal(await tenant.send(call), "a replay from elsewhere", session)
    tenant.end([session], "replay")
    tenant.acknowledge("replay")


async def _look(tenant: Tenant) -> None:
    if tenant.live:
        await tenant.check_live(tenant.random.choice(tenant.live))


async def _force_out(tenant: Tenant) -> None:
    await tenant.change(Verb.FORCE_OUT_USER, tenant.of_user)
    tenant.login = None


async def _withdraw(tenant: Tenant) -> None:
    if tenant.of_user:
        await tenant.sign_in_if_need_be()
        await tenant.change(Verb.WITHDRAW, tenant.of_user)


async def _disable(tenant: Tenant) -> None:
    await tenant.change(Verb.DISABLE_CLIENT, tenant.live)
    await tenant.change(Verb.ENABLE_CLIENT)


async def _reset_secret(tenant: Tenant) -> None:
    tenant.secret = tenant.keep((await tenant.change(Verb.RESET_SECRET)).secret)


async def _change_password(tenant: Tenant) -> None:
    await tenant.sign_in_if_need_be()
    tenant.drawn += 1
    password = tenant.keep(f"password {tenant.drawn} of {tenant.username}")
    await tenant.change(Verb.CHANGE_PASSWORD, tenant.of_user, new_password=password)
    tenant.password = password


async def _change_number(tenant: Tenant) -> None:
    tenant.drawn += 1
    phone = f"+49{tenant.client_id.rpartition('-')[2]}{1_000_000 + tenant.drawn}"
    await tenant.change(Verb.CHANGE_USER, tenant.of_user, phone=phone)
    tenant.login = None


_WEIGHTS: Final[dict[Callable[[Tenant], Awaitable[None]], int]] = {
    _ask_for_machine: 20,
    authorize: 15,
    refresh: 30,
    _retry: 10,
    revoke: 10,
    _look: 8,
    _replay: 3,
    _force_out: 1,
    _withdraw: 1,
    _disable: 1,
    _reset_secret: 1,
    _change_password: 1,
    _change_number: 1,
}


# --- after a lost answer


async def resolve(tenant: Tenant) -> None:
    """Find out the outcome of the call whose answer was lost. Raises `Lost`, and may be called again."""
    pending = tenant.pending
    if pending is None:
        return
    if not pending.is_counted:
        pending.is_counted = True
        tenant.ledger.report.tables["unknown"][pending.call.verb] += 1
    match pending.call.verb:
        case Verb.REDEEM:
            await _resolve_redemption(tenant, pending)
        case Verb.REFRESH if pending.rotates is not None:
            await _resolve_refresh(tenant, pending, pending.rotates)
        case Verb.ENABLE_CLIENT:
            await tenant.get(Verb.ENABLE_CLIENT)
        case Verb.DISABLE_CLIENT:
            await tenant.get(Verb.ENABLE_CLIENT)  # needed for the questions; it brings no session back
            await _resolve_ending(tenant, pending.ends)
        case Verb.RESET_SECRET:
            await _resolve_secret(tenant)
        case Verb.CHANGE_PASSWORD:
            changed = await tenant.ask(Verb.SIGN_IN, password=pending.call.new_password)
            has_changed = changed.kind is AnswerKind.LOGIN
            await _resolve_change(tenant, pending.ends, has_changed=has_changed)
            tenant.password = str(pending.call.new_password) if has_changed else tenant.password
        case Verb.CHANGE_USER:
            request = json_request("GET", f"/api/iam/users/{tenant.user_id}", tenant.ledger.admin)
            shown = (await tenant.connections[0].exchange(request)).data
            await _resolve_change(tenant, pending.ends, has_changed=shown["phone"] == pending.call.phone)
            tenant.login = None
        case verb:
            await _resolve_ending(tenant, pending.ends)
            tenant.login = None if verb is Verb.FORCE_OUT_USER else tenant.login
    tenant.pending = None


async def _resolve_redemption(tenant: Tenant, pending: Pending) -> None:
    answer = await tenant.send(pending.call)
    if answer.kind is AnswerKind.TOKENS:
        tenant.enter([answer])
    else:  # it was redeemed, and the tokens are unknown
        tenant.expect_refusal(answer, "a code whose redemption was not answered")


async def _resolve_refresh(tenant: Tenant, pending: Pending, session: Session) -> None:
    """Repeat a refresh: within the grace it works, whether it was done before or not."""
    answer = await tenant.send(pending.call)
    if answer.kind is AnswerKind.REFUSED and tenant.is_late(pending.since):
        tenant.expect_refusal(answer, "a late retry of a refresh that was not answered", session)
        tenant.end([session], "late retry")
    else:
        tenant.rotate(session, [answer], pending.since)


async def _resolve_ending(tenant: Tenant, sessions: list[Session]) -> bool | None:
    """Require that all sessions are live, or none; return whether they are, None if there are none."""
    live = {await tenant.is_active(token) for session in sessions for token in session.tokens}
    if len(live) > 1:
        raise tenant.violation("an ending that was not answered took a part of the sessions")
    if live == {False}:
        tenant.end(sessions, "what was not answered")
    return live.pop() if live else None


async def _resolve_change(tenant: Tenant, sessions: list[Session], *, has_changed: bool) -> None:
    """Require that a change which was made ended all sessions of the user, and any other none."""
    if await _resolve_ending(tenant, sessions) is has_changed:
        raise tenant.violation("a change that was not answered is kept, or its ending is, but not both")


async def _resolve_secret(tenant: Tenant) -> None:
    answer = await tenant.ask(Verb.INTROSPECT, token="nobody's")
    if answer.kind is AnswerKind.REFUSED:
        if answer.error != "invalid_client":
            raise tenant.violation(f"an old secret is answered: {answer}")
        await _reset_secret(tenant)
