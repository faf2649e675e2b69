"""What a tenant does while the server lives, one thing after the other, and what it makes of a lost answer.

After an answer was lost only what is allowed either way is accepted.
"""

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Final

from fuzz.processes import api
from fuzz.processes.tenant import Kind, Pending, Session, Tenant

_MOST_LIVE: Final = 4


async def act(tenant: Tenant) -> None:
    """Do one thing. Raises `Lost` where its answer did not come; `resolve` must follow."""
    [action] = tenant.random.choices([*_WEIGHTS], [*_WEIGHTS.values()])
    if len(tenant.live) >= _MOST_LIVE:
        action = tenant.random.choice([revoke, refresh])
    await action(tenant)


async def _ask_for_machine(tenant: Tenant) -> None:
    tenant.expect_loss(Kind.NOTHING)
    response = await tenant.ask_token(grant_type="client_credentials")
    tenant.expect(response, 200, "client credentials")
    tenant.live.append(Session(tenant.keep(response.json()["access_token"]), None))
    tenant.acknowledge("issued to a machine")


async def authorize(tenant: Tenant) -> None:
    """Begin a session with a code."""
    await tenant.sign_in_if_need_be()
    assert tenant.login is not None
    tenant.drawn += 1
    drawn = f"{tenant.client_id} {tenant.drawn} {tenant.random.random()}"
    verifier = sha256(drawn.encode()).hexdigest()
    tenant.expect_loss(Kind.NOTHING)
    consent = await api.authorize(tenant.connection, tenant.login, tenant.client_id, verifier)
    code = tenant.keep(api.code_of(consent))
    tenant.acknowledge("code")
    tenant.used_codes.append((code, verifier))
    tenant.expect_loss(Kind.REDEEM, code=code)
    tenant.enter(tenant.expect(await tenant.redeem(code, verifier), 200, "an exchange"))


async def refresh(tenant: Tenant) -> None:
    """Rotate a session."""
    session = tenant.choose_session()
    if session is None:
        return
    tenant.expect_loss(Kind.REFRESH, session)
    response = tenant.expect(await tenant.refresh(session.refresh), 200, "a refresh")
    assert tenant.pending is not None
    tenant.rotate(session, response, tenant.pending.since)


async def _retry(tenant: Tenant) -> None:
    session = tenant.choose_session()
    if session is None or session.spent_refresh is None or tenant.is_late(session.rotated):
        return
    tenant.expect_loss(Kind.NOTHING)
    response = await tenant.refresh(session.spent_refresh)
    content = tenant.expect(response, 200, "a retry within the grace").json()
    if (content["access_token"], content["refresh_token"]) != (session.access, session.refresh):
        raise tenant.violation("a retry within the grace brings another pair")
    tenant.pending = None
    tenant.tally.checks += 1


async def revoke(tenant: Tenant) -> None:
    """End a session."""
    if not tenant.live:
        return
    session = tenant.random.choice(tenant.live)
    tenant.expect_loss(Kind.REVOKE, session)
    token = tenant.random.choice(session.tokens)
    response = await tenant.connection.post_form("/api/oauth2/revoke", [tenant.basic], token=token)
    tenant.expect(response, 200, "a revocation")
    tenant.end([session])
    tenant.acknowledge("revoked")


async def _replay(tenant: Tenant) -> None:
    session = tenant.choose_session()
    if session is None or session.spent_refresh is None:
        return
    tenant.expect_loss(Kind.REPLAY, session)
    response = await tenant.refresh(session.spent_refresh, agent="somebody else")
    tenant.expect_refusal(response, "a replay from elsewhere")
    tenant.end([session])
    tenant.acknowledge("ended by a replay")


async def _look(tenant: Tenant) -> None:
    if tenant.live:
        tenant.expect_loss(Kind.NOTHING)
        await tenant.check_live(tenant.random.choice(tenant.live))
        tenant.pending = None


async def _force_out(tenant: Tenant) -> None:
    tenant.expect_loss(Kind.FORCE_OUT)
    response = await tenant.administer("POST", f"iam/users/{tenant.user_id}/force-logout")
    tenant.expect(response, 200, "a forced log-out")
    tenant.end(tenant.of_user)
    tenant.login = None
    tenant.acknowledge("user forced out")


async def _withdraw(tenant: Tenant) -> None:
    if not tenant.of_user:
        return
    await tenant.sign_in_if_need_be()
    tenant.expect_loss(Kind.WITHDRAW)
    path = f"/api/auth/grants/{tenant.client_id}"
    tenant.expect(await tenant.connection.send_json("DELETE", path, tenant.login), 200, "a withdrawal")
    tenant.end(tenant.of_user)
    tenant.acknowledge("consent withdrawn")


async def _disable(tenant: Tenant) -> None:
    tenant.expect_loss(Kind.DISABLE)
    path = f"oauth/clients/{tenant.client_id}/enabled"
    tenant.expect(await tenant.administer("PUT", path, enabled=False), 200, "a client is disabled")
    tenant.end(tenant.live)
    tenant.acknowledge("client disabled")
    await _enable(tenant)


async def _enable(tenant: Tenant) -> None:
    tenant.expect_loss(Kind.ENABLE)
    path = f"oauth/clients/{tenant.client_id}/enabled"
    tenant.expect(await tenant.administer("PUT", path, enabled=True), 200, "a client is enabled")
    tenant.acknowledge("client enabled")


async def _reset_secret(tenant: Tenant) -> None:
    tenant.expect_loss(Kind.RESET_SECRET)
    response = await tenant.administer("POST", f"oauth/clients/{tenant.client_id}/secret")
    tenant.expect(response, 200, "a secret is reset")
    tenant.secret = tenant.keep(str(response.data["secret"]))
    tenant.acknowledge("secret reset")


async def _change_password(tenant: Tenant) -> None:
    await tenant.sign_in_if_need_be()
    tenant.drawn += 1
    tenant.next_password = tenant.keep(f"password {tenant.drawn} of {tenant.username}")
    tenant.expect_loss(Kind.CHANGE_PASSWORD)
    content = {"oldPassword": tenant.password, "newPassword": tenant.next_password}
    response = await tenant.connection.send_json("PUT", "/api/auth/password", tenant.login, content)
    tenant.expect(response, 200, "a change of password")
    tenant.password = tenant.next_password
    tenant.end(tenant.of_user)
    tenant.acknowledge("password changed")


async def _change_number(tenant: Tenant) -> None:
    tenant.drawn += 1
    tenant.next_number = f"+49{tenant.client_id.rpartition('-')[2]}{1_000_000 + tenant.drawn}"
    tenant.expect_loss(Kind.CHANGE_NUMBER)
    response = await tenant.administer("PUT", f"iam/users/{tenant.user_id}", phone=tenant.next_number)
    tenant.expect(response, 200, "a change of number")
    tenant.end(tenant.of_user)
    tenant.login = None
    tenant.acknowledge("number changed")


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


# --- after an answer was lost


async def resolve(tenant: Tenant) -> None:
    """Find out what came of the request whose answer was lost. Raises `Lost`, and may be called again."""
    pending = tenant.pending
    if pending is None:
        return
    if not pending.counted:
        pending.counted = True
        tenant.tally.unknown[pending.kind.value] += 1
    match pending.kind:
        case Kind.NOTHING:
            pass
        case Kind.REDEEM:
            await _resolve_redemption(tenant, pending)
        case Kind.REFRESH:
            await _resolve_refresh(tenant, pending)
        case Kind.REVOKE | Kind.REPLAY:
            assert pending.session is not None
            await _resolve_ending(tenant, [pending.session])
        case Kind.FORCE_OUT:
            await _resolve_ending(tenant, tenant.of_user)
            tenant.login = None
        case Kind.WITHDRAW:
            await _resolve_ending(tenant, tenant.of_user)
        case Kind.DISABLE:
            await _resolve_disabling(tenant)
        case Kind.ENABLE:
            await _enable(tenant)
        case Kind.RESET_SECRET:
            await _resolve_secret(tenant)
        case Kind.CHANGE_PASSWORD:
            content = {"username": tenant.username, "password": tenant.next_password}
            response = await tenant.connection.send_json("POST", "/api/auth/login", None, content)
            await _resolve_change(tenant, has_changed=response.status == 200)
            tenant.password = tenant.next_password if response.status == 200 else tenant.password
        case Kind.CHANGE_NUMBER:
            response = await tenant.administer("GET", f"iam/users/{tenant.user_id}")
            shown = tenant.expect(response, 200, "a user is looked at").data["phone"]
            await _resolve_change(tenant, has_changed=shown == tenant.next_number)
            tenant.login = None
    tenant.pending = None


async def _resolve_redemption(tenant: Tenant, pending: Pending) -> None:
    [verifier] = [verifier for code, verifier in tenant.used_codes if code == pending.code]
    response = await tenant.redeem(pending.code, verifier)
    if response.status == 200:
        tenant.enter(response)
    else:  # it was redeemed, and nobody knows the tokens
        tenant.expect_refusal(response, "a code whose redemption was not answered")


async def _resolve_refresh(tenant: Tenant, pending: Pending) -> None:
    """Within the grace the same request works, whether it was the first time or not."""
    session = pending.session
    assert session is not None
    response = await tenant.refresh(session.refresh)
    if response.status == 200:
        tenant.rotate(session, response, pending.since)
    elif tenant.is_late(pending.since):
        tenant.expect_refusal(response, "a late retry of a refresh that was not answered")
        tenant.end([session])
    else:
        tenant.expect(response, 200, "a refresh whose answer was lost")


async def _resolve_ending(tenant: Tenant, sessions: list[Session]) -> None:
    """All of them live, or none does; never a part."""
    live = {await tenant.is_active(token) for session in sessions for token in session.tokens}
    if len(live) > 1:
        raise tenant.violation("an ending that was not answered took a part of the sessions")
    if live == {False}:
        tenant.end(sessions)


async def _resolve_change(tenant: Tenant, *, has_changed: bool) -> None:
    """What was changed ended all sessions of the user; what was not, none."""
    before = tenant.of_user
    await _resolve_ending(tenant, before)
    if before and bool(tenant.of_user) is has_changed:
        raise tenant.violation("a change that was not answered is kept, or its ending is, but not both")


async def _resolve_disabling(tenant: Tenant) -> None:
    response = await tenant.administer("GET", f"oauth/clients/{tenant.client_id}")
    if not tenant.expect(response, 200, "a client is looked at").data["enabled"]:
        tenant.end(tenant.live)
        await _enable(tenant)


async def _resolve_secret(tenant: Tenant) -> None:
    response = await tenant.connection.post_form("/api/oauth2/introspect", [tenant.basic], token="nobody's")
    if response.status == 200:
        return
    if (response.status, response.error) != (401, "invalid_client"):
        raise tenant.violation(f"an old secret is answered {response.status} {response.error}")
    await _reset_secret(tenant)
