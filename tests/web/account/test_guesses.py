"""Guessed passwords at sign-in: by address, by account and by name, through both doors of the web."""

from dataclasses import replace

import httpx
import pytest

from ostiary_core.throttling.sign_in_throttle import SignInThrottle
from ostiary_web.server.app_services import attach_services
from tests.support.callers import Api, expect_refusal, expect_success
from tests.support.people import with_phone
from tests.support.served import Served

ELSEWHERE = "198.51.100.9"


async def sign_in(api: Api, username: str = "anna", password: str = "wrong") -> httpx.Response:
    return await api.post("/api/auth/login", json={"username": username, "password": password})


async def guess(api: Api, times: int = 20) -> None:
    """One password on many names, each wrong."""
    for number in range(times):
        expect_refusal(await sign_in(api, f"name-{number}"), 401, "A1002")


def seconds_to_wait(response: httpx.Response) -> int:
    """The seconds of the refusal for guessing."""
    expect_refusal(response, 429, "A1003")
    return int(response.headers["retry-after"])


async def test_one_password_on_many_accounts_slows_the_address_down(served: Served) -> None:
    await with_phone(served)
    api = served.api()
    await guess(api)
    assert seconds_to_wait(await sign_in(api, "anna", "anna password")) == 1
    served.clock.wait(1)
    expect_refusal(await sign_in(api), 401, "A1002")
    assert seconds_to_wait(await sign_in(api, "anna", "anna password")) == 2
    served.clock.wait(2)
    expect_success(await sign_in(api, "anna", "anna password"))


async def test_a_guess_that_has_to_wait_is_neither_verified_nor_held_against_the_account(
    served: Served,
) -> None:
    await with_phone(served)
    api = served.api()
    await guess(api)
    before = served.records()
    for _ in range(10):
        seconds_to_wait(await sign_in(api))
    assert served.records() == before


async def test_the_sign_in_page_counts_with_the_interface(served: Served) -> None:
    await with_phone(served)
    await guess(served.api())
    page = await served.browser().sign_in("anna", "anna password")
    assert page.status_code == 429
    assert "Too many failed sign-ins" in page.text


async def guess_on(api: Api, served: Served, name: str, times: int) -> None:
    """Wrong passwords for one name, each as soon as it is let in."""
    for _ in range(times):
        answer = await sign_in(api, name)
        while answer.status_code == 429:
            served.clock.wait(seconds_to_wait(answer))
            answer = await sign_in(api, name)
        expect_refusal(answer, 401, "A1002")


async def test_whoever_guesses_from_one_address_does_not_keep_the_owner_out(served: Served) -> None:
    await with_phone(served)
    guesser = served.api()
    await guess_on(guesser, served, "anna", 12)
    assert seconds_to_wait(await sign_in(guesser, "anna", "anna password")) == 60
    for _ in range(3):
        served.clock.wait(15 * 60)
        expect_refusal(await sign_in(guesser), 401, "A1002")
        expect_success(await sign_in(served.api(ELSEWHERE), "anna", "anna password"))


@pytest.mark.parametrize("failures", range(4, 9))
async def test_the_wait_does_not_tell_which_names_exist(served: Served, failures: int) -> None:
    """Not before two processes either, as the throttle of each knows no names."""
    await with_phone(served)
    answers: dict[str, list[tuple[int, str | None]]] = {"anna": [], "nobody": []}
    other_process = replace(
        served.services, service=replace(served.service, sign_in_throttle=SignInThrottle())
    )
    for process in (served.services, other_process) * failures:
        attach_services(served.application.quart, process)
        for name, seen in answers.items():
            response = await sign_in(served.api(ELSEWHERE if name == "anna" else "198.51.100.10"), name)
            seen.append((response.status_code, response.headers.get("retry-after")))
        served.clock.wait(0.7)
    assert answers["anna"] == answers["nobody"]
