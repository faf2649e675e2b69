"""The second factor: set up, asked for, used up, removed and reset, in the interface and on the pages."""

from base64 import b32decode
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import trio.testing
from structlog.testing import capture_logs

from fuzz.shared.seeds import SeededEntropy
from ostiary_core.model.fact import FactKind
from ostiary_core.model.instant import Instant, iso_time
from ostiary_core.model.one_time_password import one_time_password, step_at
from ostiary_core.model.records import Table
from ostiary_core.storage.json_codec import to_text
from ostiary_net.front_door.limits import CannotStart
from ostiary_web.server.second_factor_key import make_second_factor_key, read_key_file
from tests.support.callers import ADMIN_PASSWORD, Api, forms_in, sso
from tests.support.people import outbox
from tests.support.served import Serve, Served

ANNA = ("anna", "anna's password")
LOGIN = "/api/auth/login"
CODE = "/api/auth/login/second-factor"
OWN = "/api/auth/second-factor"
CODE_PAGE = "/login/second-factor"


def code_of(served: Served, secret: str, steps: int = 0) -> str:
    """What an authenticator shows for this secret, so many steps from now."""
    return one_time_password(b32decode(secret), step_at(served.clock.now()) + steps)


def wrong_code(served: Served, secret: str) -> str:
    near = {code_of(served, secret, steps) for steps in (-1, 0, 1)}
    return next(text for number in range(10) if (text := f"{number:06d}") not in near)


def later(served: Served, seconds: int = 30) -> None:
    served.clock.wait(seconds)


async def set_up(served: Served, api: Api, password: str) -> dict[str, Any]:
    """A second factor of whoever is signed in at `api`, as it was shown; its first code is used up."""
    offered = await api.call("POST", OWN, {"password": password})
    assert offered.status_code == 200, offered.text
    shown: dict[str, Any] = offered.json()["data"]
    done = await api.call("PUT", OWN, {"code": code_of(served, shown["secret"])})
    assert done.status_code == 200, done.text
    later(served)
    return shown


async def anna_with_one(served: Served) -> tuple[Api, dict[str, Any]]:
    await served.user()
    api = served.api()
    await api.sign_in(*ANNA)
    return api, await set_up(served, api, ANNA[1])


async def ticket_of(served: Served, username: str = "anna", password: str = ANNA[1]) -> dict[str, Any]:
    response = await served.api().post(LOGIN, json={"username": username, "password": password})
    assert response.status_code == 200, response.text
    asked: dict[str, Any] = response.json()["data"]
    assert asked["secondFactorRequired"] is True
    return asked


async def enter(served: Served, ticket: str, code: str) -> httpx.Response:
    return await served.api().post(CODE, json={"ticket": ticket, "code": code})


# --- the interface


async def test_a_password_alone_gives_a_ticket_and_no_tokens(served: Served) -> None:
    await anna_with_one(served)
    response = await served.api().post(LOGIN, json={"username": "anna", "password": ANNA[1]})
    assert set(response.json()["data"]) == {"secondFactorRequired", "ticket", "setUpRequired"}
    assert response.json()["data"]["setUpRequired"] is False
    assert "set-cookie" not in response.headers
    ticket = response.json()["data"]["ticket"]
    assert (await served.api().call("GET", "/api/auth/me", token=ticket)).status_code == 401


async def test_a_code_with_the_ticket_signs_in(served: Served) -> None:
    _, shown = await anna_with_one(served)
    asked = await ticket_of(served)
    response = await enter(served, asked["ticket"], code_of(served, shown["secret"]))
    assert response.status_code == 200
    api = served.api()
    me = await api.call("GET", "/api/auth/me", token=response.json()["data"]["accessToken"])
    assert me.json()["data"]["username"] == "anna"
    assert me.json()["data"]["secondFactor"] is True


@pytest.mark.parametrize("steps", [-1, 0, 1])
async def test_a_code_of_the_step_before_or_after_is_taken(served: Served, steps: int) -> None:
    _, shown = await anna_with_one(served)
    later(served, 60)
    asked = await ticket_of(served)
    assert (await enter(served, asked["ticket"], code_of(served, shown["secret"], steps))).status_code == 200


@pytest.mark.parametrize("steps", [-2, 2])
async def test_a_code_two_steps_away_is_wrong(served: Served, steps: int) -> None:
    _, shown = await anna_with_one(served)
    later(served, 90)
    asked = await ticket_of(served)
    response = await enter(served, asked["ticket"], code_of(served, shown["secret"], steps))
    assert (response.status_code, response.json()["code"]) == (401, "A1002")


async def test_a_code_works_once_and_those_before_it_no_more(served: Served) -> None:
    _, shown = await anna_with_one(served)
    later(served, 60)
    asked = await ticket_of(served)
    code, earlier = code_of(served, shown["secret"]), code_of(served, shown["secret"], -1)
    assert (await enter(served, asked["ticket"], code)).status_code == 200
    later(served, 1)
    for used in (code, earlier):
        asked = await ticket_of(served)
        assert (await enter(served, asked["ticket"], used)).status_code == 401


async def test_the_code_that_confirmed_it_does_not_sign_in(served: Served) -> None:
    await served.user()
    api = served.api()
    await api.sign_in(*ANNA)
    shown = (await api.call("POST", OWN, {"password": ANNA[1]})).json()["data"]
    code = code_of(served, shown["secret"])
    assert (await api.call("PUT", OWN, {"code": code})).status_code == 200
    asked = await ticket_of(served)
    assert (await enter(served, asked["ticket"], code)).status_code == 401


async def test_a_ticket_is_good_for_one_sign_in(served: Served) -> None:
    _, shown = await anna_with_one(served)
    asked = await ticket_of(served)
    assert (await enter(served, asked["ticket"], code_of(served, shown["secret"]))).status_code == 200
    later(served)
    again = await enter(served, asked["ticket"], code_of(served, shown["secret"]))
    assert (again.status_code, again.json()["code"]) == (401, "A1001")


async def test_a_ticket_is_good_for_five_minutes(served: Served) -> None:
    _, shown = await anna_with_one(served)
    asked = await ticket_of(served)
    later(served, 299)
    in_time = await enter(served, asked["ticket"], code_of(served, shown["secret"]))
    assert in_time.status_code == 200
    asked = await ticket_of(served)
    later(served, 300)
    late = await enter(served, asked["ticket"], code_of(served, shown["secret"]))
    assert (late.status_code, late.json()["code"]) == (401, "A1001")


async def test_a_ticket_dies_with_the_password(served: Served) -> None:
    api, shown = await anna_with_one(served)
    asked = await ticket_of(served)
    body = {"oldPassword": ANNA[1], "newPassword": "another password"}
    assert (await api.call("PUT", "/api/auth/password", body)).status_code == 200
    assert (await enter(served, asked["ticket"], code_of(served, shown["secret"]))).status_code == 401


@pytest.mark.parametrize("ticket", ["x", "AAAA", "é" * 40, "A" * 400])
async def test_what_is_no_ticket_is_refused(served: Served, ticket: str) -> None:
    response = await enter(served, ticket, "000000")
    assert (response.status_code, response.json()["code"]) == (401, "A1001")


async def test_the_ticket_of_another_name_is_refused(served: Served) -> None:
    _, shown = await anna_with_one(served)
    asked = await ticket_of(served)
    forged = asked["ticket"][:-8] + ("A" * 8)
    assert (await enter(served, forged, code_of(served, shown["secret"]))).status_code == 401


async def test_a_recovery_code_works_once(served: Served) -> None:
    _, shown = await anna_with_one(served)
    assert len(set(shown["recoveryCodes"])) == 10
    asked = await ticket_of(served)
    assert (await enter(served, asked["ticket"], shown["recoveryCodes"][3].upper())).status_code == 200
    later(served, 1)
    asked = await ticket_of(served)
    assert (await enter(served, asked["ticket"], shown["recoveryCodes"][3])).status_code == 401
    assert (await enter(served, asked["ticket"], shown["recoveryCodes"][4])).status_code == 200
    kinds = [entry.kind for entry in served.audit()]
    assert kinds.count(FactKind.RECOVERY_CODE_USED) == 2


async def test_five_wrong_codes_make_the_user_wait_from_every_address(served: Served) -> None:
    _, shown = await anna_with_one(served)
    asked = await ticket_of(served)
    for _ in range(5):
        assert (await enter(served, asked["ticket"], wrong_code(served, shown["secret"]))).status_code == 401
    elsewhere = served.api(source="198.51.100.9")
    body = {"ticket": asked["ticket"], "code": code_of(served, shown["secret"])}
    refused = await elsewhere.post(CODE, json=body)
    assert (refused.status_code, refused.json()["code"]) == (429, "A1003")
    assert int(refused.headers["Retry-After"]) == 15 * 60
    later(served, 15 * 60)
    asked = await ticket_of(served)
    assert (await enter(served, asked["ticket"], code_of(served, shown["secret"]))).status_code == 200


async def test_an_unlock_ends_the_wait_for_the_code_too(served: Served) -> None:
    api, shown = await anna_with_one(served)
    asked = await ticket_of(served)
    wait = 0
    while wait < 10:
        guess = await served.api().post(LOGIN, json={"username": "anna", "password": "?"})
        wait = int(guess.headers.get("Retry-After", 0))
        later(served, wait if wait < 10 else 0)
    assert (await enter(served, asked["ticket"], code_of(served, shown["secret"]))).status_code == 429
    anna = (await api.succeed("GET", "/api/auth/me"))["id"]
    root = await served.administrator()
    await root.succeed("POST", f"/api/iam/users/{anna}/unlock")
    later(served, 1)
    assert (await enter(served, asked["ticket"], code_of(served, shown["secret"]))).status_code == 200


async def test_users_read_that_somebody_had_their_password_and_no_code(served: Served) -> None:
    api, shown = await anna_with_one(served)
    asked = await ticket_of(served)
    stranger = served.api("198.51.100.7", **{"User-Agent": "curl/8"})
    body = {"ticket": asked["ticket"], "code": wrong_code(served, shown["secret"])}
    await stranger.fail(401, "A1002", "POST", CODE, body)

    failed, _ = await api.succeed("GET", "/api/auth/sign-ins")

    assert failed["succeeded"] is False
    assert (failed["ip"], failed["userAgent"]) == ("198.51.100.7", "curl/8")
    browser = served.browser()
    page = await browser.sign_in(*ANNA)
    await browser.submit(page, {"code": code_of(served, shown["secret"])}, to=CODE_PAGE)
    assert "Password right, code wrong" in (await browser.get("/account/sessions")).text


async def test_an_unlock_takes_five_wrong_codes_back(served: Served) -> None:
    api, shown = await anna_with_one(served)
    asked = await ticket_of(served)
    for _ in range(5):
        assert (await enter(served, asked["ticket"], wrong_code(served, shown["secret"]))).status_code == 401
    anna = f"/api/iam/users/{(await api.succeed('GET', '/api/auth/me'))['id']}"
    root, browser = await served.administrator(), await served.sign_in_browser()

    counted = await root.succeed("GET", f"{anna}/failed-sign-ins")
    assert counted["waitsUntil"] == iso_time(Instant(served.clock.now() + 15 * 60_000))
    page = await browser.get(anna.replace("/api/iam/users", "/admin/people"))
    assert "No further try is taken before" in page.text

    await root.succeed("POST", f"{anna}/unlock")

    assert (await root.succeed("GET", f"{anna}/failed-sign-ins"))["waitsUntil"] is None
    assert (await enter(served, asked["ticket"], code_of(served, shown["secret"]))).status_code == 200


async def test_nobody_takes_their_own_wrong_codes_back(served: Served) -> None:
    root = await served.administrator()
    shown = await set_up(served, root, ADMIN_PASSWORD)
    body = {"password": ADMIN_PASSWORD, "code": wrong_code(served, shown["secret"])}
    own = f"/api/iam/users/{(await root.succeed('GET', '/api/auth/me'))['id']}"
    for _ in range(5):
        await root.fail(422, "A1007", "DELETE", OWN, body)

    await root.succeed("POST", f"{own}/unlock")

    await root.fail(429, "A1003", "DELETE", OWN, body)


async def test_setting_up_ends_every_other_session(served: Served) -> None:
    await served.user()
    here, there = served.api(), served.api()
    await here.sign_in(*ANNA)
    await there.sign_in(*ANNA)
    await set_up(served, here, ANNA[1])
    assert (await here.call("GET", "/api/auth/me")).status_code == 200
    assert (await there.call("GET", "/api/auth/me")).status_code == 401


async def test_setting_up_takes_the_password_and_a_right_code(served: Served) -> None:
    await served.user()
    api = served.api()
    await api.sign_in(*ANNA)
    assert (await api.call("PUT", OWN, {"code": "000000"})).status_code == 404
    wrong = await api.call("POST", OWN, {"password": "not hers"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "A1005")
    shown = (await api.call("POST", OWN, {"password": ANNA[1]})).json()["data"]
    wrong = await api.call("PUT", OWN, {"code": wrong_code(served, shown["secret"])})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "A1007")
    recovery = await api.call("PUT", OWN, {"code": shown["recoveryCodes"][0]})
    assert recovery.status_code == 422
    # Until a code confirmed it, nobody is asked for one.
    await served.api().sign_in(*ANNA)


async def test_the_address_for_authenticators_names_server_and_user(served: Served) -> None:
    await served.user()
    api = served.api()
    await api.sign_in(*ANNA)
    shown = (await api.call("POST", OWN, {"password": ANNA[1]})).json()["data"]
    uri = urlsplit(shown["uri"])
    assert (uri.scheme, uri.netloc, uri.path) == ("otpauth", "totp", "/Ostiary:anna")
    assert parse_qs(uri.query) == {"secret": [shown["secret"]], "issuer": ["Ostiary"]}


async def test_a_second_one_is_not_set_up_beside_the_first(served: Served) -> None:
    api, _ = await anna_with_one(served)
    refused = await api.call("POST", OWN, {"password": ANNA[1]})
    assert (refused.status_code, refused.json()["code"]) == (409, "A0409")


async def test_removing_takes_password_and_code_and_signs_out_elsewhere(served: Served) -> None:
    api, shown = await anna_with_one(served)
    asked = await ticket_of(served)
    other = (await enter(served, asked["ticket"], code_of(served, shown["secret"]))).json()["data"]
    later(served)
    code = code_of(served, shown["secret"])
    wrong = await api.call("DELETE", OWN, {"password": "not hers", "code": code})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "A1005")
    wrong = await api.call("DELETE", OWN, {"password": ANNA[1], "code": wrong_code(served, shown["secret"])})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "A1007")
    assert (await api.call("DELETE", OWN, {"password": ANNA[1], "code": code})).status_code == 200
    assert (await api.call("GET", "/api/auth/me")).json()["data"]["secondFactor"] is False
    assert (await api.call("GET", "/api/auth/me", token=other["accessToken"])).status_code == 401
    await served.api().sign_in(*ANNA)
    assert served.records()[Table.SECOND_FACTOR] == frozenset()


async def test_new_recovery_codes_replace_those_before(served: Served) -> None:
    api, shown = await anna_with_one(served)
    body = {"password": ANNA[1], "code": code_of(served, shown["secret"])}
    renewed = (await api.call("POST", f"{OWN}/recovery-codes", body)).json()["data"]["recoveryCodes"]
    assert not set(renewed) & set(shown["recoveryCodes"])
    asked = await ticket_of(served)
    assert (await enter(served, asked["ticket"], shown["recoveryCodes"][0])).status_code == 401
    assert (await enter(served, asked["ticket"], renewed[0])).status_code == 200


async def test_nothing_of_it_is_in_the_store_in_plain(served: Served) -> None:
    _, shown = await anna_with_one(served)
    everything = "".join(to_text(record) for records in served.records().values() for record in records)
    for secret in (shown["secret"], b32decode(shown["secret"]).hex(), *shown["recoveryCodes"]):
        assert secret not in everything


async def test_another_administrator_resets_it(served: Served) -> None:
    api, _ = await anna_with_one(served)
    administrator = await served.administrator()
    [anna] = [each for each in served.records()[Table.USER] if getattr(each, "username", "") == "anna"]
    path = f"/api/iam/users/{anna.key.id!s}"
    assert (await administrator.call("GET", path)).json()["data"]["secondFactor"] is True
    assert (await administrator.call("DELETE", f"{path}/second-factor")).status_code == 200
    assert (await api.call("GET", "/api/auth/me")).status_code == 401
    await served.api().sign_in(*ANNA)
    assert (await administrator.call("DELETE", f"{path}/second-factor")).status_code == 200
    removed = [entry for entry in served.audit() if entry.kind is FactKind.SECOND_FACTOR_REMOVED]
    assert [entry.user_id for entry in removed] == [anna.key.id]
    assert removed[0].actor_id is not None


async def test_nobody_resets_their_own(served: Served) -> None:
    administrator = await served.administrator()
    await set_up(served, administrator, ADMIN_PASSWORD)
    own = (await administrator.call("GET", "/api/auth/me")).json()["data"]["id"]
    refused = await administrator.call("DELETE", f"/api/iam/users/{own}/second-factor")
    assert (refused.status_code, refused.json()["code"]) == (403, "A0403")


async def test_a_deleted_account_leaves_nothing_of_it(served: Served) -> None:
    await anna_with_one(served)
    administrator = await served.administrator()
    [stored] = served.records()[Table.SECOND_FACTOR]
    assert (await administrator.call("DELETE", f"/api/iam/users/{stored.key.id!s}")).status_code == 200
    assert served.records()[Table.SECOND_FACTOR] == frozenset()


# --- who must have one


async def test_an_administrator_who_must_have_one_sets_it_up_before_anything_else(serve: Serve) -> None:
    async with serve(REQUIRE_SECOND_FACTOR="administrators") as served:
        asked = await ticket_of(served, "admin", ADMIN_PASSWORD)
        assert asked["setUpRequired"] is True
        assert (await enter(served, asked["ticket"], "000000")).status_code == 401
        begun = await served.api().post(f"{CODE}/set-up", json={"ticket": asked["ticket"]})
        shown = begun.json()["data"]
        refused = await enter(served, asked["ticket"], shown["recoveryCodes"][0])
        assert (refused.status_code, refused.json()["code"]) == (401, "A1002")
        signed_in = await enter(served, asked["ticket"], code_of(served, shown["secret"]))
        api = served.api()
        me = await api.call("GET", "/api/auth/me", token=signed_in.json()["data"]["accessToken"])
        assert me.json()["data"]["secondFactor"] is True
        later(served)
        asked = await ticket_of(served, "admin", ADMIN_PASSWORD)
        assert asked["setUpRequired"] is False
        again = await served.api().post(f"{CODE}/set-up", json={"ticket": asked["ticket"]})
        assert (again.status_code, again.json()["code"]) == (409, "A0409")
        # Whoever holds no permission signs in as before.
        await served.user()
        await served.api().sign_in(*ANNA)


async def test_everybody_must_have_one_where_the_setting_says_so(serve: Serve) -> None:
    async with serve(REQUIRE_SECOND_FACTOR="everybody") as served:
        await served.user()
        assert (await ticket_of(served))["setUpRequired"] is True


async def test_who_must_have_one_and_removes_it_is_signed_out(serve: Serve) -> None:
    async with serve(REQUIRE_SECOND_FACTOR="everybody") as served:
        await served.user()
        asked = await ticket_of(served)
        begun = await served.api().post(f"{CODE}/set-up", json={"ticket": asked["ticket"]})
        secret = begun.json()["data"]["secret"]
        api = served.api()
        api.token = (await enter(served, asked["ticket"], code_of(served, secret))).json()["data"][
            "accessToken"
        ]
        later(served)
        body = {"password": ANNA[1], "code": code_of(served, secret)}
        assert (await api.call("DELETE", OWN, body)).status_code == 200
        assert (await api.call("GET", "/api/auth/me")).status_code == 401
        assert (await ticket_of(served))["setUpRequired"] is True


# --- the key


async def test_a_code_cannot_be_checked_with_another_key_and_a_recovery_code_works(serve: Serve) -> None:
    async with serve() as served:
        _, shown = await anna_with_one(served)
    clock = served.clock
    async with serve(SECOND_FACTOR_KEY="another key than the one it was set up with", clock=clock) as served:
        for _ in range(100):
            served.entropy_source.draw()  # what the first server drew
        asked = await ticket_of(served)
        with capture_logs() as logs:
            refused = await enter(served, asked["ticket"], code_of(served, shown["secret"]))
        assert (refused.status_code, refused.json()["code"]) == (500, "A0500")
        assert "SECOND_FACTOR_KEY" in next(log["event"] for log in logs if log["log_level"] == "error")
        found = await served.services.self_check.findings()
        assert [each.key for each in found if each.about == "SECOND_FACTOR_KEY"] == [
            "check.second_factors.other_key"
        ]
        assert (await enter(served, asked["ticket"], shown["recoveryCodes"][0])).status_code == 200


def test_the_first_start_makes_a_key_that_only_its_owner_can_read(tmp_path: Path) -> None:
    made = make_second_factor_key(tmp_path / "data", SeededEntropy())
    [file] = (tmp_path / "data").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (
        make_second_factor_key(tmp_path / "data", SeededEntropy()) == made == read_key_file(tmp_path / "data")
    )
    file.write_text("short\n")
    with pytest.raises(CannotStart, match=r"SECOND_FACTOR_KEY: is not set, and .* is too short"):
        make_second_factor_key(tmp_path / "data", SeededEntropy())


# --- recovery by text message


async def recover(served: Served, phone: str) -> int:
    """The status of a recovery with the code that was sent to the number, if one was."""
    asked = await served.api().post("/api/auth/sms-code", json={"phone": phone, "purpose": "reset-password"})
    if asked.status_code != 200:
        return asked.status_code
    await trio.testing.wait_all_tasks_blocked()
    code = next((each["code"] for each in outbox(served)[::-1] if each["phone"] == phone), "000000")
    body = {"phone": phone, "code": code, "newPassword": "a new password"}
    return (await served.api().post("/api/auth/reset-password", json=body)).status_code


@pytest.mark.parametrize(
    "setting, without, having", [("everybody", 200, 200), ("second-factor", 422, 200), ("no", 403, 403)]
)
async def test_recovery_by_text_message_alone_can_be_forbidden(
    serve: Serve, setting: str, without: int, having: int
) -> None:
    async with serve(RECOVERY_BY_TEXT_MESSAGE=setting) as served:
        await served.user(phone="+8613800138001")
        assert await recover(served, "+8613800138001") == without
        await served.user("bob", "bob's password", phone="+8613800138002")
        api = served.api()
        await api.sign_in("bob", "bob's password")
        await set_up(served, api, "bob's password")
        assert await recover(served, "+8613800138002") == having
        if having == 200:
            # The new password does not stand for the second factor.
            assert (await ticket_of(served, "bob", "a new password"))["setUpRequired"] is False


async def test_where_no_password_is_recovered_by_text_message_nobody_is_promised_a_code(serve: Serve) -> None:
    async with serve(RECOVERY_BY_TEXT_MESSAGE="no") as served:
        wanted = {"phone": "+8613800138001", "purpose": "reset-password"}
        await served.api().fail(403, "A0403", "POST", "/api/auth/sms-code", wanted)
        browser = served.browser()
        assert "/recover" not in (await browser.get("/login")).text
        page = await browser.get("/recover")
        assert page.status_code == 403
        assert "Ask an administrator." in page.text
        assert [form.action for form in forms_in(page)] == []


# --- the pages


async def test_the_pages_ask_for_a_code_and_lead_on_to_a_client(served: Served) -> None:
    client = await served.client()
    _, shown = await anna_with_one(served)
    browser = served.browser()
    page = await browser.sign_in(*ANNA, return_to=sso(client.client_id))
    assert (page.status_code, page.headers["content-security-policy"].count("form-action")) == (200, 0)
    assert not browser.cookies.get("ostiary_access")
    wrong = await browser.submit(page, {"code": wrong_code(served, shown["secret"])}, to=CODE_PAGE)
    assert wrong.status_code == 401
    done = await browser.submit(wrong, {"code": code_of(served, shown["secret"])}, to=CODE_PAGE)
    assert done.headers["location"] == sso(client.client_id)
    consent = await browser.follow(done)
    assert "The App" in consent.text


async def test_a_sign_in_that_took_too_long_begins_again(served: Served) -> None:
    _, shown = await anna_with_one(served)
    browser = served.browser()
    page = await browser.sign_in(*ANNA, return_to="/account")
    later(served, 300)
    late = await browser.submit(page, {"code": code_of(served, shown["secret"])}, to=CODE_PAGE)
    assert late.status_code == 401
    [form] = [form for form in forms_in(late) if form.action == "/login"]
    assert form.fields["next"] == "/account"


async def test_the_pages_set_one_up_where_it_is_asked_for(serve: Serve) -> None:
    async with serve(REQUIRE_SECOND_FACTOR="administrators") as served:
        browser = served.browser()
        page = await browser.sign_in(return_to="/admin")
        [form] = [form for form in forms_in(page) if form.action == CODE_PAGE]
        secret = form.fields["secret"]
        assert "<svg" in page.text
        assert "style=" not in page.text
        wrong = await browser.submit(page, {"code": wrong_code(served, secret)}, to=CODE_PAGE)
        assert wrong.status_code == 401
        assert form.fields["recovery_codes"].split()[0] in wrong.text
        done = await browser.submit(wrong, {"code": code_of(served, secret)}, to=CODE_PAGE)
        assert (await browser.follow(done)).status_code == 200


async def test_users_set_up_renew_and_remove_on_their_pages(served: Served) -> None:
    await served.user()
    browser = served.browser()
    await browser.sign_in(*ANNA)
    page = await browser.get("/account/second-factor")
    refused = await browser.submit(page, {"password": "not hers"}, to="/account/second-factor")
    assert refused.status_code == 422
    page = await browser.submit(refused, {"password": ANNA[1]}, to="/account/second-factor")
    [form] = [form for form in forms_in(page) if form.action.endswith("/confirm")]
    secret = form.fields["secret"]
    wrong = await browser.submit(page, {"code": wrong_code(served, secret)}, to=form.action)
    assert wrong.status_code == 422
    done = await browser.submit(wrong, {"code": code_of(served, secret)}, to=form.action)
    assert "Change second factor" in (await browser.follow(done)).text
    later(served)
    page = await browser.get("/account/second-factor")
    proof = {"password": ANNA[1], "code": code_of(served, secret)}
    renewed = await browser.submit(page, proof, to="/account/second-factor/recovery-codes")
    assert renewed.text.count("<li><code>") == 10
    later(served)
    page = await browser.get("/account/second-factor")
    proof = {"password": ANNA[1], "code": code_of(served, secret)}
    done = await browser.submit(page, proof, to="/account/second-factor/remove")
    assert "Set up a second factor" in (await browser.follow(done)).text


async def test_an_administrator_resets_it_on_the_page_of_a_user(served: Served) -> None:
    await anna_with_one(served)
    [stored] = served.records()[Table.SECOND_FACTOR]
    browser = served.browser()
    await browser.sign_in()
    place = f"/admin/people/{stored.key.id!s}"
    assert "Reset second factor" in (await browser.get(place)).text
    ask = await browser.get(f"{place}/reset-second-factor")
    done = await browser.submit(ask, to=f"{place}/reset-second-factor")
    assert "Reset second factor" not in (await browser.follow(done)).text
    await served.api().sign_in(*ANNA)
