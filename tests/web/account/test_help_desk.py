"""What the help desk sees of a person and does for them: last sign-in, failed tries, waits, and unlocking."""

import re
from dataclasses import replace
from html import unescape

from ostiary_core.events import Operator, UserUnlocked
from ostiary_core.model.instant import iso_time
from ostiary_core.model.permissions import Permission
from ostiary_core.throttling.sign_in_throttle import SignInThrottle
from ostiary_net.turns.unlocks import Unlocks
from ostiary_web.server.app_services import attach_services
from tests.support.callers import SOURCE, Api, expect_refusal, expect_success
from tests.support.people import holder_of
from tests.support.served import Served

USERS = "/api/iam/users"
ELSEWHERE = "198.51.100.9"
PASSWORD = "anna's password"


async def sign_in(api: Api, password: str = "wrong", username: str = "anna") -> int:
    answer = await api.post("/api/auth/login", json={"username": username, "password": password})
    return answer.status_code


async def fail_until_waiting(api: Api) -> None:
    assert [await sign_in(api) for _ in range(6)] == [401] * 5 + [429]


async def test_a_sign_in_is_remembered_and_people_are_found_by_it(served: Served, api: Api) -> None:
    anna = await served.user("anna")
    assert expect_success(await api.call("GET", f"{USERS}/{anna}"))["lastSignInAt"] is None
    served.clock.wait(60)
    today = iso_time(served.clock.now())

    async def found(**query: str) -> list[str]:
        return [
            user["username"] for user in expect_success(await api.call("GET", USERS, params=query))["items"]
        ]

    assert await found(lastSignInAtTo=today) == ["admin", "anna"]
    assert await found(lastSignInAtFrom=today) == []
    assert await sign_in(served.api()) == 401
    assert await found(lastSignInAtFrom=today) == []
    assert await sign_in(served.api(), PASSWORD) == 200
    assert await found(lastSignInAtFrom=today) == ["anna"]
    assert await found(sort="lastSignInAt") == ["admin", "anna"]
    assert expect_success(await api.call("GET", f"{USERS}/{anna}"))["lastSignInAt"] == today


async def test_people_are_found_by_role_and_by_what_they_must_do_first(served: Served, api: Api) -> None:
    await holder_of(served, Permission.USER_LIST, username="desk")
    await holder_of(served, Permission.USER_LIST, username="desk-two")
    await served.user("new", "first password", mustChangePassword=True)

    async def found(**query: str) -> list[str]:
        return [
            user["username"] for user in expect_success(await api.call("GET", USERS, params=query))["items"]
        ]

    assert await found(roleIds="role-of-desk") == ["desk"]
    assert await found(roleIds="super_admin", enabled="true") == ["admin"]
    assert await found(roleIds="role-of") == await found(roleIds='role-of-desk","x') == []
    assert await found(mustChangePassword="true") == ["new"]

    browser = served.browser()
    await browser.sign_in()
    people = (await browser.get("/admin/people?roleIds=role-of-desk")).text
    assert '<option value="role-of-desk" selected>A role</option>' in people
    assert re.findall(r'data-label="User name".*?<b>(.*?)</b>', people, re.DOTALL) == ["desk"]


async def test_the_page_of_a_role_shows_its_holders_to_whoever_may_see_people(served: Served) -> None:
    await holder_of(served, Permission.ROLE_LIST, Permission.USER_LIST, username="desk")
    await holder_of(served, Permission.ROLE_LIST, username="roles-only")
    for username, shown in (("desk", 1), ("roles-only", 0)):
        browser = served.browser()
        await browser.sign_in(username, "the holder's")
        page = (await browser.get("/admin/roles/role-of-desk")).text
        assert len(re.findall(r'<a href="/admin/people/[0-9a-f]{32}">Desk</a>', page)) == shown


async def test_failed_tries_and_their_waits_are_shown_and_an_unlock_ends_them(served: Served) -> None:
    anna, desk = (
        await served.user("anna"),
        await holder_of(served, Permission.USER_LIST, Permission.USER_UPDATE),
    )
    here, failed = served.api(ELSEWHERE), f"{USERS}/{anna}/failed-sign-ins"
    nothing = {"countedSince": iso_time(served.services.started_at), "failures": 0, "waitsUntil": None}
    assert expect_success(await desk.call("GET", failed)) == {**nothing, "addresses": []}

    await fail_until_waiting(here)

    until = iso_time(type(served.clock.now())(served.clock.now() + 1_000))
    at = {"ip": ELSEWHERE, "failures": 5, "waitsUntil": until}
    assert expect_success(await desk.call("GET", failed)) == {**nothing, "failures": 5, "addresses": [at]}
    assert await sign_in(here, PASSWORD) == 429
    expect_success(await desk.call("POST", f"{USERS}/{anna}/unlock"))
    assert expect_success(await desk.call("GET", failed)) == {**nothing, "addresses": []}
    assert await sign_in(here, PASSWORD) == 200
    [entry] = [each for each in served.audit() if each.kind == "user-unlocked"]
    assert (entry.user_id, entry.source) == (anna, SOURCE)
    assert entry.actor_id == expect_success(await desk.call("GET", "/api/auth/me"))["id"]


async def test_every_process_learns_of_an_unlock_once_when_a_guess_has_to_wait(served: Served) -> None:
    """The command line unlocks through the database alone."""
    anna, here = await served.user("anna"), served.api(ELSEWHERE)
    other = replace(
        served.services,
        service=replace(served.service, sign_in_throttle=SignInThrottle(), unlocks=Unlocks()),
    )
    for process in (served.services, other):
        attach_services(served.application.quart, process)
        await fail_until_waiting(here)
    served.clock.wait(1)
    assert await sign_in(here) == 401  # it was let in, so what follows waits two seconds

    await served.decide(UserUnlocked(caller=Operator(), user_id=anna))

    served.clock.wait(1)
    for process in (other, served.services):
        attach_services(served.application.quart, process)
        await fail_until_waiting(here)
        served.clock.wait(1)
        assert await sign_in(here) == 401
        assert await sign_in(here, PASSWORD) == 429, "the same unlock forgives nothing twice"
        served.clock.wait(60 * 60)


async def test_an_unlock_forgives_one_name_and_not_what_the_address_did_under_others(served: Served) -> None:
    anna, desk = await served.user("anna"), await holder_of(served, Permission.USER_UPDATE)
    crowd = served.api(ELSEWHERE)
    for number in range(20):
        assert await sign_in(crowd, username=f"name-{number}") == 401
    assert await sign_in(crowd, PASSWORD) == 429
    expect_success(await desk.call("POST", f"{USERS}/{anna}/unlock"))
    served.clock.wait(0.5)
    assert await sign_in(crowd, PASSWORD) == 429


async def test_nobody_above_is_unlocked_and_nobody_who_is_not_there(served: Served, api: Api) -> None:
    desk = await holder_of(served, Permission.USER_UPDATE)
    admin = expect_success(await api.call("GET", "/api/auth/me"))["id"]
    expect_refusal(await desk.call("POST", f"{USERS}/{admin}/unlock"), 403, "A0403")
    expect_refusal(await desk.call("POST", f"{USERS}/nobody/unlock"), 404, "A0404")


async def test_the_page_of_a_person_shows_what_the_help_desk_asks_for(served: Served) -> None:
    app, anna = await served.client(), await served.user("anna")
    await served.tokens(app, "anna", PASSWORD)
    await holder_of(served, Permission.USER_LIST, Permission.USER_UPDATE, Permission.ONLINE_LIST)
    await fail_until_waiting(served.api(ELSEWHERE))
    desk = served.browser()
    await desk.sign_in("holder", "the holder's")

    shown = await desk.get(f"/admin/people/{anna}")
    page = unescape(shown.text)

    assert "Last sign-in" in page
    assert "Must change the password" in page
    assert "<b>The App</b>" in page, "a running session names its application"
    assert "5 failed tries are remembered." in page
    assert ELSEWHERE in page
    unlocked = await desk.submit(shown, to=f"/admin/people/{anna}/unlock")
    assert "0 failed tries are remembered." in unescape((await desk.follow(unlocked)).text)
