"""The second factor over the interface and on pages: set up, required, used, removed and reset."""

from base64 import b32decode, urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

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
from ostiary_net.runtime.passwords import Passwords
from ostiary_web.server.second_factor_key import make_second_factor_key, read_key_file
from tests.support.callers import (
    ADMIN_PASSWORD,
    Api,
    expect_refusal,
    expect_success,
    forms_in,
    registration,
    sso,
)
from tests.support.people import outbox, sign_in
from tests.support.served import Serve, Served

ANNA = ("anna", "anna's password")
ADMIN = ("admin", ADMIN_PASSWORD)
LOGIN = "/api/auth/login"
CODE = "/api/auth/login/second-factor"
OWN = "/api/auth/second-factor"
CODE_PAGE = "/login/second-factor"
STEP_SECONDS = 30
OWN_PAGE = "/account/second-factor"


def code_of(served: Served, secret: str, steps: int = 0) -> str:
    """Return the code that an authenticator shows for this secret, some steps from now."""
    return one_time_password(b32decode(secret), step_at(served.clock.now()) + steps)


def wrong_code(served: Served, secret: str) -> str:
    near = {code_of(served, secret, steps) for steps in (-1, 0, 1)}
    return next(text for number in range(10) if (text := f"{number:06d}") not in near)


async def ticket_of(served: Served, credentials: tuple[str, str], *, sets_up: bool = False) -> str:
    """Return the ticket that a right password gives a user who has a second factor or must set one up."""
    body = dict(zip(("username", "password"), credentials, strict=True))
    asked = await served.api().succeed("POST", LOGIN, body)
    assert asked == {"secondFactorRequired": True, "ticket": asked["ticket"], "setUpRequired": sets_up}
    return str(asked["ticket"])


@dataclass
class Holder:
    """A user with a second factor: a program of this user, and the secrets that the user was shown."""

    served: Served
    api: Api
    credentials: tuple[str, str]
    secret: str
    recovery_codes: list[str]
    uri: str = ""

    def code(self, steps: int = 0) -> str:
        return code_of(self.served, self.secret, steps)

    def wrong_code(self) -> str:
        return wrong_code(self.served, self.secret)

    def proof(self) -> dict[str, str]:
        """Return the fields that a change of the second factor needs."""
        return {"password": self.credentials[1], "code": self.code()}

    async def ticket(self) -> str:
        return await ticket_of(self.served, self.credentials)

    async def enter(self, code: str, ticket: str | None = None) -> httpx.Response:
        """Enter a code as the second step of a sign-in; without a ticket, take the first step as well."""
        body = {"ticket": ticket or await self.ticket(), "code": code}
        return await self.served.api().post(CODE, json=body)


async def offer(served: Served, credentials: tuple[str, str] = ANNA) -> Holder:
    """Begin to set up a second factor, which no code has confirmed yet."""
    api = await sign_in(served, *credentials)
    shown = await api.succeed("POST", OWN, {"password": credentials[1]})
    return Holder(served, api, credentials, shown["secret"], shown["recoveryCodes"], shown["uri"])


async def set_up(served: Served, credentials: tuple[str, str] = ANNA) -> Holder:
    """Set up a second factor; its first code is used, and the next one can be entered."""
    holder = await offer(served, credentials)
    await holder.api.succeed("PUT", OWN, {"code": holder.code()})
    served.clock.wait(STEP_SECONDS)
    return holder


@pytest.fixture
async def anna(served: Served) -> Holder:
    await served.user()
    return await set_up(served)


def secret_in(page: httpx.Response) -> str:
    """Return the secret that a page offers."""
    [secret] = [form.fields["secret"] for form in forms_in(page) if "secret" in form.fields]
    return secret


def user_id_of(holder: Holder) -> str:
    [stored] = holder.served.records()[Table.SECOND_FACTOR]
    return str(stored.key.id)


# --- the interface


async def test_a_password_alone_gives_a_ticket_and_no_tokens(served: Served, anna: Holder) -> None:
    response = await served.api().post(LOGIN, json={"username": "anna", "password": ANNA[1]})
    assert "set-cookie" not in response.headers
    await served.api().fail(401, "A1001", "GET", "/api/auth/me", token=response.json()["data"]["ticket"])


async def test_a_code_with_the_ticket_signs_in_and_forgives_failures(served: Served, anna: Holder) -> None:
    wrong = {"username": "anna", "password": "not hers"}
    for _ in range(2):
        for _ in range(4):
            await served.api().fail(401, "A1002", "POST", LOGIN, wrong)
        tokens = expect_success(await anna.enter(anna.code()))
        me = await served.api().succeed("GET", "/api/auth/me", token=tokens["accessToken"])
        assert (me["username"], me["secondFactor"]) == ("anna", True)
        served.clock.wait(STEP_SECONDS)

    async def guess() -> int:
        return (await served.api().post(LOGIN, json=wrong)).status_code

    guesses = [await guess() for _ in range(4)]
    await anna.ticket()  # A right password without a code forgives nothing.
    assert [*guesses, await guess(), await guess()] == [401] * 5 + [429]


@pytest.mark.parametrize("steps", range(-2, 3))
async def test_only_codes_of_neighbouring_steps_are_taken(served: Served, anna: Holder, steps: int) -> None:
    served.clock.wait(3 * STEP_SECONDS)
    answer = await anna.enter(anna.code(steps))
    if abs(steps) < 2:
        expect_success(answer)
    else:
        expect_refusal(answer, 401, "A1002")


async def test_a_code_works_once_and_those_before_it_no_more(served: Served, anna: Holder) -> None:
    confirmed = anna.code(-1)
    expect_refusal(await anna.enter(confirmed), 401, "A1002")
    served.clock.wait(2 * STEP_SECONDS)
    code, earlier = anna.code(), anna.code(-1)
    expect_success(await anna.enter(code))
    served.clock.wait(1)
    for used in (code, earlier):
        expect_refusal(await anna.enter(used), 401, "A1002")


async def test_what_is_no_ticket_is_refused(anna: Holder) -> None:
    forged = (await anna.ticket())[:-8] + "A" * 8
    for ticket in ("x", "AAAA", "é" * 40, "A" * 400, forged):
        expect_refusal(await anna.enter(anna.code(), ticket), 401, "A1001")


@pytest.mark.parametrize("kind", ["forged", "too old", "used", "of another password", "of a factor before"])
async def test_a_ticket_is_good_for_one_sign_in_within_five_minutes_and_another_makes_no_user_wait(
    served: Served, anna: Holder, kind: str
) -> None:
    ticket = await anna.ticket()
    match kind:
        case "forged":
            raw = urlsafe_b64decode(ticket + "=" * (-len(ticket) % 4))
            ticket = urlsafe_b64encode(bytes(32) + raw[32:]).rstrip(b"=").decode()
        case "too old":
            served.clock.wait(300)
        case "used":
            served.clock.wait(299)
            expect_success(await anna.enter(anna.code(), ticket))
            served.clock.wait(STEP_SECONDS)
        case "of another password":
            changed = {"oldPassword": ANNA[1], "newPassword": "another password"}
            await anna.api.succeed("PUT", "/api/auth/password", changed)
            anna.credentials = ("anna", "another password")
        case _:
            await anna.api.succeed("DELETE", OWN, anna.proof())
            anna = await set_up(served)
    for _ in range(9):
        expect_refusal(await anna.enter(anna.wrong_code(), ticket), 401, "A1001")
    expect_success(await anna.enter(anna.code()))


@pytest.mark.parametrize("user_id", ["\x00", "\ud800", "é", "a" * 65])
async def test_a_ticket_names_what_can_be_an_identifier(served: Served, user_id: str) -> None:
    for text in (f"1:{user_id}:anna", f"1:anna:{'a' * 65}"):
        payload = text.encode("utf-8", "surrogatepass")
        ticket = urlsafe_b64encode(bytes(32) + payload).rstrip(b"=").decode()
        await served.api().fail(401, "A1001", "POST", CODE, {"ticket": ticket, "code": "000000"})
        await served.api().fail(401, "A1001", "POST", f"{CODE}/set-up", {"ticket": ticket})


async def test_a_recovery_code_works_once(served: Served, anna: Holder) -> None:
    assert len(set(anna.recovery_codes)) == 10
    expect_success(await anna.enter(anna.recovery_codes[3].upper()))
    served.clock.wait(1)
    expect_refusal(await anna.enter(anna.recovery_codes[3]), 401, "A1002")
    expect_success(await anna.enter(anna.recovery_codes[4]))
    assert [entry.kind for entry in served.audit()].count(FactKind.RECOVERY_CODE_USED) == 2


@pytest.mark.parametrize("ends_by", ["time", "unlock"])
async def test_five_wrong_codes_make_the_user_wait_from_every_address_and_an_unlock_takes_them_back(
    served: Served, anna: Holder, ends_by: str
) -> None:
    ticket, anna_id = await anna.ticket(), user_id_of(anna)
    for _ in range(5):
        expect_refusal(await anna.enter(anna.wrong_code(), ticket), 401, "A1002")
    refused = await served.api(source="198.51.100.9").post(CODE, json={"ticket": ticket, "code": anna.code()})
    expect_refusal(refused, 429, "A1003")
    assert int(refused.headers["Retry-After"]) == 15 * 60
    root, browser = await served.administrator(), await served.sign_in_browser()
    failed = f"/api/iam/users/{anna_id}/failed-sign-ins"
    until = iso_time(Instant(served.clock.now() + 15 * 60_000))
    assert (await root.succeed("GET", failed))["waitsUntil"] == until
    assert "No further try is taken before" in (await browser.get(f"/admin/people/{anna_id}")).text
    if ends_by == "unlock":
        await root.succeed("POST", f"/api/iam/users/{anna_id}/unlock")
        assert (await root.succeed("GET", failed))["waitsUntil"] is None
        expect_success(await anna.enter(anna.code(), ticket))
    else:
        served.clock.wait(15 * 60)
        expect_success(await anna.enter(anna.code()))


async def test_an_unlock_ends_the_wait_for_the_code_too(served: Served, anna: Holder) -> None:
    ticket, wait = await anna.ticket(), 0
    while wait < 10:
        guess = await served.api().post(LOGIN, json={"username": "anna", "password": "?"})
        wait = int(guess.headers.get("Retry-After", 0))
        served.clock.wait(wait if wait < 10 else 0)
    expect_refusal(await anna.enter(anna.code(), ticket), 429, "A1003")
    root = await served.administrator()
    await root.succeed("POST", f"/api/iam/users/{user_id_of(anna)}/unlock")
    served.clock.wait(1)
    expect_success(await anna.enter(anna.code(), ticket))


async def test_users_see_sign_ins_with_a_right_password_and_no_code(served: Served, anna: Holder) -> None:
    stranger = served.api("198.51.100.7", **{"User-Agent": "curl/8"})
    body = {"ticket": await anna.ticket(), "code": anna.wrong_code()}
    await stranger.fail(401, "A1002", "POST", CODE, body)
    failed, stopped, *_ = await anna.api.succeed("GET", "/api/auth/sign-ins")
    assert (stopped["succeeded"], stopped["ip"] != failed["ip"]) == (False, True), "a right password alone"
    assert (failed["succeeded"], failed["ip"], failed["userAgent"]) == (False, "198.51.100.7", "curl/8")
    browser = served.browser()
    page = await browser.follow(await browser.sign_in(*ANNA))
    await browser.submit(page, {"code": anna.code()}, to=CODE_PAGE)
    page = await browser.get("/account/sessions")
    assert "Password right, code wrong" in page.text
    assert page.text.count("Password right, no code") == 1, "and none for those that a code followed"


async def test_an_administrator_cannot_take_back_own_wrong_codes(served: Served) -> None:
    root = await set_up(served, ADMIN)
    wrong = {**root.proof(), "code": root.wrong_code()}
    for _ in range(5):
        await root.api.fail(422, "A1007", "DELETE", OWN, wrong)
    await root.api.fail(422, "B1003", "POST", f"/api/iam/users/{user_id_of(root)}/unlock")
    await root.api.fail(429, "A1003", "DELETE", OWN, wrong)


async def test_setting_up_takes_password_and_code_and_ends_all_other_sessions(served: Served) -> None:
    await served.user()
    other = await sign_in(served, *ANNA)
    await other.fail(404, "A0404", "PUT", OWN, {"code": "000000"})
    await other.fail(422, "A1005", "POST", OWN, {"password": "not hers"})
    anna = await offer(served)
    for code in (anna.wrong_code(), anna.recovery_codes[0]):
        await anna.api.fail(422, "A1007", "PUT", OWN, {"code": code})
    # A sign-in asks for no code before one has confirmed the second factor.
    await sign_in(served, *ANNA)
    await anna.api.succeed("PUT", OWN, {"code": anna.code()})
    await anna.api.succeed("GET", "/api/auth/me")
    await other.fail(401, "A1001", "GET", "/api/auth/me")
    await anna.api.fail(409, "A0409", "POST", OWN, {"password": ANNA[1]})


async def test_the_address_for_authenticators_names_server_and_user(serve: Serve) -> None:
    async with serve(BRAND_NAME="Söhne & Co") as served:
        await served.user()
        anna = await offer(served)
    uri = urlsplit(anna.uri)
    assert (uri.scheme, uri.netloc, unquote(uri.path)) == ("otpauth", "totp", "/Söhne & Co:anna")
    assert parse_qs(uri.query) == {"secret": [anna.secret], "issuer": ["Söhne & Co"]}


async def test_removing_takes_password_and_code_and_signs_out_elsewhere(served: Served, anna: Holder) -> None:
    other = expect_success(await anna.enter(anna.code()))
    served.clock.wait(STEP_SECONDS)
    await anna.api.fail(422, "A1005", "DELETE", OWN, {**anna.proof(), "password": "not hers"})
    await anna.api.fail(422, "A1007", "DELETE", OWN, {**anna.proof(), "code": anna.wrong_code()})
    await anna.api.succeed("DELETE", OWN, anna.proof())
    assert (await anna.api.succeed("GET", "/api/auth/me"))["secondFactor"] is False
    await served.api().fail(401, "A1001", "GET", "/api/auth/me", token=other["accessToken"])
    await sign_in(served, *ANNA)
    assert served.records()[Table.SECOND_FACTOR] == frozenset()


async def test_new_recovery_codes_replace_those_before(anna: Holder) -> None:
    renewed = (await anna.api.succeed("POST", f"{OWN}/recovery-codes", anna.proof()))["recoveryCodes"]
    assert not set(renewed) & set(anna.recovery_codes)
    expect_refusal(await anna.enter(anna.recovery_codes[0]), 401, "A1002")
    expect_success(await anna.enter(renewed[0]))


async def test_the_store_has_no_plain_secret_and_forgets_deleted_users(served: Served, anna: Holder) -> None:
    everything = "".join(to_text(record) for records in served.records().values() for record in records)
    for secret in (anna.secret, b32decode(anna.secret).hex(), *anna.recovery_codes):
        assert secret not in everything
    await (await served.administrator()).succeed("DELETE", f"/api/iam/users/{user_id_of(anna)}")
    assert served.records()[Table.SECOND_FACTOR] == frozenset()


@pytest.mark.parametrize("by_page", [False, True])
async def test_only_another_administrator_resets_it(served: Served, anna: Holder, by_page: bool) -> None:
    anna_id, administrator = user_id_of(anna), await served.administrator()
    path, place = f"/api/iam/users/{anna_id}", f"/admin/people/{anna_id}"
    assert (await administrator.succeed("GET", path))["secondFactor"] is True
    if by_page:
        browser = await served.sign_in_browser()
        assert "Reset second factor" in (await browser.get(place)).text
        asked = await browser.get(f"{place}/reset-second-factor")
        done = await browser.submit(asked, to=f"{place}/reset-second-factor")
        assert "Reset second factor" not in (await browser.follow(done)).text
    else:
        await administrator.succeed("DELETE", f"{path}/second-factor")
    await anna.api.fail(401, "A1001", "GET", "/api/auth/me")
    await sign_in(served, *ANNA)
    await administrator.succeed("DELETE", f"{path}/second-factor")
    [removed] = [entry for entry in served.audit() if entry.kind is FactKind.SECOND_FACTOR_REMOVED]
    own = (await administrator.succeed("GET", "/api/auth/me"))["id"]
    assert (removed.user_id, removed.actor_id) == (anna_id, own)
    await administrator.fail(422, "B1003", "DELETE", f"/api/iam/users/{own}/second-factor")


# --- users who must have a second factor


async def set_up_at_sign_in(served: Served, credentials: tuple[str, str]) -> tuple[Holder, str]:
    """Sign in a user who must set up a second factor; return this user and the ticket of the sign-in."""
    ticket = await ticket_of(served, credentials, sets_up=True)
    shown = await served.api().succeed("POST", f"{CODE}/set-up", {"ticket": ticket})
    holder = Holder(served, served.api(), credentials, shown["secret"], shown["recoveryCodes"])
    expect_refusal(await holder.enter(holder.recovery_codes[0], ticket), 401, "A1002")
    holder.api.token = expect_success(await holder.enter(holder.code(), ticket))["accessToken"]
    served.clock.wait(STEP_SECONDS)
    return holder, ticket


async def test_an_administrator_who_must_have_one_sets_it_up_before_anything_else(serve: Serve) -> None:
    async with serve(REQUIRE_SECOND_FACTOR="administrators") as served:
        holder, _ = await set_up_at_sign_in(served, ADMIN)
        assert (await holder.api.succeed("GET", "/api/auth/me"))["secondFactor"] is True
        again = {"ticket": await holder.ticket()}
        await served.api().fail(409, "A0409", "POST", f"{CODE}/set-up", again)
        # A user without a permission signs in as before.
        await served.user()
        await sign_in(served, *ANNA)


async def test_a_user_who_becomes_an_administrator_sets_one_up_before_anything_else(serve: Serve) -> None:
    async with serve(REQUIRE_SECOND_FACTOR="administrators") as served:
        root, _ = await set_up_at_sign_in(served, ADMIN)
        expect_success(await root.api.call("POST", "/api/oauth/clients", registration("app")), 201)
        anna_id = await served.user()
        anna, browser = await sign_in(served, *ANNA), await served.sign_in_browser(*ANNA)
        asks = f"/api/oauth2/authorize{sso().removeprefix('/sso')}"
        await anna.succeed("GET", asks)
        await root.api.succeed("PUT", f"/api/iam/users/{anna_id}", {"roleIds": ["super_admin"]})

        refused = await anna.fail(403, "A1009", "GET", "/api/iam/users")
        assert refused["msg"] == "You must set up a second factor first."
        for method, path in (
            ("GET", "/api/auth/tokens"),
            ("GET", "/api/auth/sign-ins"),
            ("POST", "/api/auth/prove"),
            ("POST", "/api/auth/second-factor/recovery-codes"),
            ("POST", "/api/monitor/force-logout-all"),
        ):
            await anna.fail(403, "A1009", method, path)
        await anna.fail(403, "A1009", "GET", asks)
        me = await anna.succeed("GET", "/api/auth/me")
        assert (me["secondFactor"], me["mustSetUpSecondFactor"]) == (False, True)

        there = (await browser.get("/admin/people?page=1")).headers["location"]
        assert there == f"{OWN_PAGE}?next=/admin/people?page=1"
        assert (await browser.get(sso())).headers["location"].startswith(f"{OWN_PAGE}?next=/sso?")
        begun = await browser.get(there)
        assert "must have a second factor before you go on" in begun.text
        assert '<nav class="app-nav"' not in begun.text
        offered = await browser.follow(await browser.submit(begun, {"password": ANNA[1]}, to=OWN_PAGE))
        confirm_at, next_at = f"{OWN_PAGE}/confirm", "/admin/people?page=1"
        assert f"{confirm_at}?next={next_at}" in [form.action for form in forms_in(offered)]
        secret = secret_in(offered)
        wrong = await browser.submit(offered, {"code": wrong_code(served, secret)}, to=confirm_at)
        done = await browser.submit(wrong, {"code": code_of(served, secret)}, to=confirm_at)
        assert (done.status_code, done.headers["location"]) == (303, next_at)
        assert (await browser.get("/admin/people")).status_code == 200
        await anna.fail(401, "A1001", "GET", "/api/auth/me")


async def test_a_code_before_there_is_a_second_factor_makes_no_user_wait(serve: Serve) -> None:
    async with serve(REQUIRE_SECOND_FACTOR="administrators") as served:
        ticket = await ticket_of(served, ADMIN, sets_up=True)
        body = {"ticket": ticket, "code": "000000"}
        for _ in range(9):
            await served.api().fail(401, "A1001", "POST", CODE, body)
        shown = await served.api().succeed("POST", f"{CODE}/set-up", {"ticket": ticket})
        await served.api().succeed("POST", CODE, {**body, "code": code_of(served, shown["secret"])})


async def test_a_user_who_must_have_one_and_removes_it_is_signed_out(serve: Serve) -> None:
    async with serve(REQUIRE_SECOND_FACTOR="everybody") as served:
        await served.user()
        anna, _ = await set_up_at_sign_in(served, ANNA)
        await anna.api.succeed("DELETE", OWN, anna.proof())
        await anna.api.fail(401, "A1001", "GET", "/api/auth/me")
        await ticket_of(served, ANNA, sets_up=True)


# --- the key


async def test_a_code_cannot_be_checked_with_another_key_and_a_recovery_code_works(serve: Serve) -> None:
    async with serve() as served:
        await served.user()
        anna = await set_up(served)
    clock = served.clock
    async with serve(SECOND_FACTOR_KEY="another key than the one it was set up with", clock=clock) as served:
        for _ in range(100):
            served.entropy_source.draw()  # The first server drew these already.
        anna.served = served
        with capture_logs() as logs:
            expect_refusal(await anna.enter("aaaa-aaaa-aaaa-aaaa"), 401, "A1002")
            refused = await anna.enter(anna.code())
        expect_refusal(refused, 500, "A0500")
        [error] = [log for log in logs if log["log_level"] == "error"]
        assert "SECOND_FACTOR_KEY" in error["event"]
        assert error["trace_id"] == refused.json()["traceId"]
        found = await served.services.self_check.findings()
        keys = [each.key for each in found if each.about == "SECOND_FACTOR_KEY"]
        assert keys == ["check.second_factors.other_key"]
        expect_success(await anna.enter(anna.recovery_codes[0]))


async def test_a_start_that_makes_another_key_warns_once(serve: Serve, tmp_path: Path) -> None:
    async with serve() as served:
        await served.user()
        await set_up(served)
    for warned in ([1], []):
        with capture_logs() as logs:
            async with serve(SECOND_FACTOR_KEY="", DATA_DIR=str(tmp_path / "moved")):
                pass
        assert [log["users"] for log in logs if "second factor key" in log["event"]] == warned


def test_the_first_start_makes_a_key_that_only_its_owner_can_read(tmp_path: Path) -> None:
    folder, entropy = tmp_path / "data", SeededEntropy()
    made, is_new = make_second_factor_key(folder, entropy)
    assert is_new
    [file] = folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert make_second_factor_key(folder, entropy) == (made, False)
    assert read_key_file(folder) == made
    file.write_text("short\n")
    with pytest.raises(CannotStart, match=r"SECOND_FACTOR_KEY: is not set, and .* is too short"):
        make_second_factor_key(folder, entropy)


# --- recovery by text message


async def recover(served: Served, phone: str) -> int:
    """Recover a password with the code that was sent to the number, and return the status."""
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
async def test_recovery_can_be_forbidden(serve: Serve, setting: str, without: int, having: int) -> None:
    async with serve(RECOVERY_BY_TEXT_MESSAGE=setting) as served:
        await served.user(phone="+8613800138001")
        assert await recover(served, "+8613800138001") == without
        await served.user("bob", "bob's password", phone="+8613800138002")
        await set_up(served, ("bob", "bob's password"))
        assert await recover(served, "+8613800138002") == having
        if having == 200:
            # The new password does not stand for the second factor.
            await ticket_of(served, ("bob", "a new password"))


async def test_forbidden_recovery_promises_no_code(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(RECOVERY_BY_TEXT_MESSAGE="no") as served:
        phone = {"phone": "+8613800138001"}
        asked = {**phone, "purpose": "reset-password"}
        await served.api().fail(403, "A0403", "POST", "/api/auth/sms-code", asked)
        monkeypatch.delattr(Passwords, "hash")  # A refused recovery must hash nothing.
        reset = {**phone, "code": "000000", "newPassword": "a new password"}
        await served.api().fail(403, "A0403", "POST", "/api/auth/reset-password", reset)


# --- the pages


async def test_the_pages_ask_for_a_code_and_lead_on_to_a_client(served: Served, anna: Holder) -> None:
    await served.client()
    browser = served.browser()
    page = await browser.follow(await browser.sign_in(*ANNA, return_to=sso()))
    assert (page.status_code, page.headers["content-security-policy"].count("form-action")) == (200, 0)
    assert not browser.cookies.get("ostiary_access")
    wrong = await browser.submit(page, {"code": anna.wrong_code()}, to=CODE_PAGE)
    assert wrong.status_code == 401
    done = await browser.submit(wrong, {"code": anna.code()}, to=CODE_PAGE)
    assert done.headers["location"] == sso()
    assert "The App" in (await browser.follow(done)).text


async def test_the_pages_set_one_up_if_it_is_required(serve: Serve) -> None:
    async with serve(REQUIRE_SECOND_FACTOR="administrators", BRAND_NAME="Söhne & Co") as served:
        browser = served.browser()
        page = await browser.follow(await browser.sign_in(return_to="/admin"))
        [form] = [form for form in forms_in(page) if form.action == CODE_PAGE]
        secret = form.fields["secret"]
        assert ("<svg" in page.text, "style=" in page.text) == (True, False)
        wrong = await browser.submit(page, {"code": wrong_code(served, secret)}, to=CODE_PAGE)
        assert wrong.status_code == 401
        assert form.fields["recovery_codes"].split()[0] in wrong.text
        assert page.text.partition("<svg")[2].partition("</svg>")[0] in wrong.text
        done = await browser.submit(wrong, {"code": code_of(served, secret)}, to=CODE_PAGE)
        assert (await browser.follow(done)).status_code == 200


async def test_recovery_codes_have_a_field_and_an_empty_one_is_no_guess(served: Served, anna: Holder) -> None:
    browser = served.browser()
    page = await browser.follow(await browser.sign_in(*ANNA))
    assert 'inputmode="numeric"' in page.text
    for _ in range(9):
        page = await browser.submit(page, {"code": " "}, to=CODE_PAGE)
        assert page.status_code == 400
    done = await browser.submit(page, {"recovery_code": anna.recovery_codes[0]}, to=CODE_PAGE)
    assert done.status_code == 303
    assert browser.cookies.get("ostiary_access")
    assert (await browser.get(CODE_PAGE)).headers["location"].startswith("/login?")


async def test_a_form_left_open_says_that_another_one_is_set_up(served: Served) -> None:
    await served.user()
    browser = await served.sign_in_browser(*ANNA)
    begun, password = await browser.get(OWN_PAGE), {"password": ANNA[1]}
    offers = [await browser.follow(await browser.submit(begun, password, to=OWN_PAGE)) for _ in "ab"]
    left_open, shown = offers
    code, to = {"code": code_of(served, secret_in(shown))}, f"{OWN_PAGE}/confirm"
    assert (await browser.submit(shown, code, to=to)).status_code == 303

    late = await browser.submit(left_open, {"code": "000000"}, to=f"{OWN_PAGE}/confirm")

    assert (late.status_code, "A second factor is set up already." in late.text) == (409, True)
    assert "otpauth:" not in late.text


async def test_owner_and_help_desk_see_how_many_recovery_codes_are_left(served: Served, anna: Holder) -> None:
    root, browser = await served.administrator(), await served.sign_in_browser()
    of_anna, place = f"/api/iam/users/{user_id_of(anna)}", f"/admin/people/{user_id_of(anna)}"
    for left in (9, 8):
        served.clock.wait(STEP_SECONDS)
        expect_success(await anna.enter(anna.recovery_codes[left]))
        assert await anna.api.succeed("GET", OWN) == {"recoveryCodesLeft": left}
        assert await root.succeed("GET", f"{of_anna}/second-factor") == {"recoveryCodesLeft": left}
        assert f"<dt>Recovery codes left</dt><dd>{left}</dd>" in (await browser.get(place)).text
    served.clock.wait(STEP_SECONDS)
    own_browser = served.browser()
    page = await own_browser.follow(await own_browser.sign_in(*ANNA))
    await own_browser.submit(page, {"code": anna.code()}, to=CODE_PAGE)
    assert "You have 8 recovery codes left." in (await own_browser.get(OWN_PAGE)).text
    await root.fail(404, "A0404", "GET", OWN)
    await root.fail(404, "A0404", "GET", "/api/iam/users/nobody/second-factor")
    await root.succeed("DELETE", f"{of_anna}/second-factor")
    await root.fail(404, "A0404", "GET", f"{of_anna}/second-factor")
    assert "Recovery codes left" not in (await browser.get(place)).text


async def test_the_owner_reads_by_text_message_what_was_done_with_the_second_factor(served: Served) -> None:
    root, user_id = await served.administrator(), await served.user(phone="+8613800000001")
    holder = await set_up(served)
    served.clock.wait(60)
    expect_success(await holder.enter(holder.recovery_codes[0]))
    await holder.api.succeed("POST", f"{OWN}/recovery-codes", holder.proof())
    await root.succeed("DELETE", f"/api/iam/users/{user_id}/second-factor")
    told = [(message["purpose"], message["phone"], message["code"]) for message in outbox(served)]
    kinds = ("second-factor-set", "recovery-code-used", "recovery-codes-renewed", "second-factor-removed")
    assert told == [(kind, "+8613800000001", None) for kind in kinds]
    assert all("anna" in message["text"] for message in outbox(served))
