"""An old login session must prove its user again before an act that gives power (READINGS 57)."""

import pytest

from ostiary_core.model.instant import iso_time, later
from ostiary_core.model.permissions import Permission
from tests.support.callers import ADMIN_PASSWORD, Api, Browser, forms_in
from tests.support.people import HOLDERS_PASSWORD, holder_of
from tests.support.served import Served
from tests.web.account.test_second_factor import set_up

PROVE = "/api/auth/prove"
USERS = "/api/iam/users"
QUARTER = 15 * 60
CHOSEN = {"password": "chosen by the thief"}


@pytest.fixture
async def stolen(served: Served) -> Api:
    """Return a session of the help desk whose last proof is just too old."""
    may = (Permission.USER_UPDATE, Permission.USER_CREATE, Permission.ROLE_UPDATE, Permission.AUDIT_READ)
    api = await holder_of(served, *may, username="desk")
    served.clock.wait(QUARTER)
    return api


async def test_a_stolen_old_session_is_stopped_at_the_first_step(served: Served, stolen: Api) -> None:
    peer = await served.user("peer", "peer's password", roleIds=["role-of-desk"])
    await stolen.fail(403, "A1010", "PUT", f"{USERS}/{peer}/password", CHOSEN)
    await stolen.fail(403, "A1010", "PUT", f"{USERS}/{peer}", {"phone": "+8613900000001"})
    await served.api().sign_in("peer", "peer's password")
    await set_up(served, ("peer", "peer's password"))
    await stolen.fail(403, "A1010", "DELETE", f"{USERS}/{peer}/second-factor")


async def test_a_stolen_old_session_registers_no_accomplice_with_roles(served: Served, stolen: Api) -> None:
    accomplice = {"username": "accomplice", "name": "A", "password": "long enough"}
    await stolen.fail(403, "A1010", "POST", USERS, {**accomplice, "roleIds": ["role-of-desk"]})
    await stolen.fail(403, "A1010", "POST", "/api/auth/tokens", token_of(Permission.USER_UPDATE))
    await stolen.succeed("POST", USERS, accomplice, status=201)


async def test_the_password_proves_and_the_same_request_goes_through(served: Served, stolen: Api) -> None:
    anna = await served.user("anna")
    proved = await stolen.succeed("POST", PROVE, {"password": HOLDERS_PASSWORD})
    assert proved == {"provedUntil": iso_time(later(served.clock.now(), QUARTER))}
    served.clock.wait(QUARTER - 1)
    await stolen.succeed("PUT", f"{USERS}/{anna}/password", CHOSEN)


async def test_five_wrong_proofs_end_the_session(served: Served, stolen: Api) -> None:
    for _ in range(4):
        await stolen.fail(422, "A1005", "POST", PROVE, {"password": "a guess"})
    await stolen.fail(401, "A1001", "POST", PROVE, {"password": "a guess"})
    await stolen.fail(401, "A1001", "GET", "/api/auth/me")


async def test_a_user_with_a_second_factor_proves_by_a_code(served: Served) -> None:
    await served.user("anna")
    anna = await set_up(served)
    await anna.api.fail(400, "A0401", "POST", PROVE, {"password": anna.credentials[1]})
    await anna.api.fail(422, "A1007", "POST", PROVE, {"code": anna.wrong_code()})
    assert "provedUntil" in await anna.api.succeed("POST", PROVE, {"code": anna.code()})


async def test_a_token_does_only_what_it_was_given_by_name(served: Served, stolen: Api) -> None:
    anna = await served.user("anna")
    await stolen.succeed("POST", PROVE, {"password": HOLDERS_PASSWORD})
    plain = await stolen.succeed("POST", "/api/auth/tokens", token_of(Permission.USER_UPDATE), status=201)
    chosen = token_of(Permission.USER_UPDATE, "iam.user.credentials")
    wide = await stolen.succeed("POST", "/api/auth/tokens", chosen, status=201)
    reset = ("PUT", f"{USERS}/{anna}/password", CHOSEN)
    await served.api().fail(403, "A0403", *reset, token=plain["token"])
    await served.api().succeed(*reset, token=wide["token"])
    await served.api().fail(401, "A1001", "POST", PROVE, CHOSEN, token=wide["token"])


def token_of(*permissions: str) -> dict[str, object]:
    return {"name": " ".join(permissions), "permissions": list(permissions), "expiresInDays": 1}


# --- on the pages


async def test_a_form_that_gives_power_asks_once_and_goes_on_as_it_was_filled(served: Served) -> None:
    browser = await served.sign_in_browser()
    user_id = await served.user("anna")
    served.clock.wait(QUARTER)
    address = f"/admin/people/{user_id}/edit"
    page = await browser.get(address)
    asked = await browser.submit(page, {"name": "Anna Bell", "phone": "+8613900000001"}, to=address)
    assert (asked.status_code, "Confirm that it is you" in asked.text) == (403, True)
    [form] = forms_in(asked)
    assert (form.fields["name"], form.fields["phone"]) == ("Anna Bell", "+8613900000001")
    wrong = await browser.submit(asked, {"proof": "wrong"})
    assert wrong.status_code == 422
    assert (await browser.submit(wrong, {"proof": ADMIN_PASSWORD})).status_code == 303
    api = await served.administrator()
    changed = await api.succeed("GET", f"{USERS}/{user_id}")
    assert (changed["name"], changed["phone"]) == ("Anna Bell", "+8613900000001")


async def test_a_question_before_a_reset_asks_for_the_proof_with_it(served: Served, browser: Browser) -> None:
    user_id = await served.user("anna")
    address = f"/admin/people/{user_id}/reset-password"
    assert 'name="proof"' not in (await browser.get(address)).text
    served.clock.wait(QUARTER)
    page = await browser.get(address)
    assert 'name="proof"' in page.text
    done = await browser.submit(page, {"password": "another password", "proof": ADMIN_PASSWORD}, to=address)
    assert done.status_code == 303
    assert 'name="proof"' not in (await browser.get(address)).text


@pytest.mark.parametrize("path", ["/admin/people/new", "/account/tokens"])
async def test_no_password_is_carried_by_the_question(served: Served, browser: Browser, path: str) -> None:
    await holder_of(served, Permission.USER_UPDATE, username="desk")
    served.clock.wait(QUARTER)
    values = {"username": "carol", "name": "C", "password": "carol's password", "roleIds": "role-of-desk"}
    if path == "/account/tokens":
        values = {"name": "deploys", "permissions": "audit.read", "expiresInDays": "30"}
    asked = await browser.submit(await browser.get(path), values, to=path)
    assert "Confirm that it is you" in asked.text
    assert "carol's password" not in asked.text
    assert "Confirm that it is you" not in (await browser.submit(asked, {"proof": ADMIN_PASSWORD})).text
