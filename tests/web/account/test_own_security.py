"""What people do and read who fear for their account: signing out elsewhere, their sign-ins, and notices."""

import json
from typing import Any

import pytest

from ostiary_core.model.permissions import Permission
from tests.support.callers import (
    REDIRECT_URI,
    Api,
    Browser,
    authorization,
    expect_refusal,
    expect_success,
    forms_in,
)
from tests.support.people import (
    ANNAS_PHONE,
    NEW_PHONE,
    PASSWORD,
    code_sent_to,
    everything_open,
    holder_of,
    new_number,
    outbox,
    sign_in,
    with_phone,
)
from tests.support.served import Served


async def is_signed_in(api: Api) -> bool:
    return (await api.call("GET", "/api/auth/me")).status_code == 200


@pytest.mark.parametrize("face", ["interface", "page"])
async def test_signing_out_elsewhere_ends_everything_but_the_session_that_asks(
    served: Served, face: str
) -> None:
    await with_phone(served)
    client = await served.client()
    anna = await everything_open(served, client)
    if face == "interface":
        assert expect_success(await anna.here.call("POST", "/api/auth/logout-elsewhere")) is None
        assert await is_signed_in(anna.here)
    else:
        browser = served.browser()
        await browser.sign_in("anna", PASSWORD)
        asked = await browser.get("/account/sessions/end-others")
        done = await browser.submit(asked, to="/account/sessions/end-others")
        assert done.status_code == 303
        assert (await browser.get("/account/sessions")).status_code == 200
        assert not await is_signed_in(anna.here)
    assert not await is_signed_in(anna.elsewhere)
    for pair in (anna.rotated, anna.fresh):
        assert not await anna.here.is_active(client, pair["access_token"])


async def test_signing_out_elsewhere_ends_access_tokens(served: Served) -> None:
    holder = await holder_of(served, Permission.CLIENT_LIST)
    fields = {"name": "deploys", "permissions": ["oauth.client.list"], "expiresInDays": 1}
    token = expect_success(await holder.call("POST", "/api/auth/tokens", fields), 201)["token"]
    expect_success(await holder.call("POST", "/api/auth/logout-elsewhere"))
    expect_refusal(await served.api().call("GET", "/api/oauth/clients", token=token), 401, "A1001")


async def test_wrong_passwords_still_count_after_signing_out_elsewhere(served: Served, anna: Api) -> None:
    """Or whoever holds one session could guess for ever."""
    wrong = {"oldPassword": "not it", "newPassword": "another long one"}
    for _ in range(4):
        expect_refusal(await anna.call("PUT", "/api/auth/password", wrong), 422, "A1005")
        expect_success(await anna.call("POST", "/api/auth/logout-elsewhere"))
    expect_refusal(await anna.call("PUT", "/api/auth/password", wrong), 401, "A1001")


async def test_people_read_of_their_own_sign_ins_and_of_failed_ones(served: Served, anna: Api) -> None:
    stranger = served.api("198.51.100.7", **{"User-Agent": "curl/8"})
    served.clock.wait(60)
    await stranger.post("/api/auth/login", json={"username": "anna", "password": "guessed"})
    failed, own = expect_success(await anna.call("GET", "/api/auth/sign-ins"))
    assert failed == {
        "at": "2027-01-15T08:01:00.123Z",
        "succeeded": False,
        "ip": "198.51.100.7",
        "userAgent": "curl/8",
    }
    assert (own["at"], own["succeeded"]) == ("2027-01-15T08:00:00.123Z", True)
    await served.user("bert", "bert's password")
    assert (
        len(
            expect_success(
                await (await sign_in(served, "bert", "bert's password")).call("GET", "/api/auth/sign-ins")
            )
        )
        == 1
    )
    browser = served.browser()
    await browser.sign_in("anna", PASSWORD)
    page = await browser.get("/account/sessions")
    assert "198.51.100.7" in page.text
    assert "Failed" in page.text


def notices(served: Served) -> list[tuple[str, str]]:
    return [(each["phone"], each["purpose"]) for each in outbox(served) if each["code"] is None]


async def test_a_changed_password_is_told_to_the_users_telephone(served: Served, anna: Api) -> None:
    body = {"oldPassword": PASSWORD, "newPassword": "another long one"}
    expect_success(await anna.call("PUT", "/api/auth/password", body))
    assert notices(served) == [(ANNAS_PHONE, "password-changed")]
    root, user_id = await served.administrator(), expect_success(await anna.call("GET", "/api/auth/me"))["id"]
    reset = {"password": "chosen by another"}
    expect_success(await root.call("PUT", f"/api/iam/users/{user_id}/password", reset))
    assert notices(served) == [(ANNAS_PHONE, "password-changed")] * 2
    assert "anna" in outbox(served)[-1]["text"]
    await served.user("bert", "bert's password")
    bert = await sign_in(served, "bert", "bert's password")
    expect_success(await bert.call("PUT", "/api/auth/password", {**body, "oldPassword": "bert's password"}))
    assert len(notices(served)) == 2, "who has no telephone is told nothing"


async def test_a_changed_number_is_told_to_the_old_one(served: Served, anna: Api) -> None:
    code = await code_sent_to(served, NEW_PHONE, "change-phone", anna)
    expect_success(await anna.call("PUT", "/api/auth/phone", new_number(code)))
    assert notices(served) == [(ANNAS_PHONE, "phone-changed")]
    root, user_id = await served.administrator(), expect_success(await anna.call("GET", "/api/auth/me"))["id"]
    expect_success(await root.call("PUT", f"/api/iam/users/{user_id}", {"phone": None}))
    assert notices(served)[1:] == [(NEW_PHONE, "phone-changed")]
    assert NEW_PHONE not in json.dumps(outbox(served)[-1]["text"])


async def test_a_notice_that_cannot_be_written_fails_no_change(
    served: Served, anna: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(type(served.services.text_messages._delivery), "deliver", fail)
    body = {"oldPassword": PASSWORD, "newPassword": "another long one"}
    expect_success(await anna.call("PUT", "/api/auth/password", body))
    await sign_in(served, "anna", "another long one")


async def test_the_sign_in_page_names_the_application_that_one_comes_from(served: Served) -> None:
    await served.client(name="Shop <b>& Co")
    parameters = authorization("app")
    browser = served.browser()
    led = await browser.get("/sso", params=parameters, follow_redirects=True)
    assert led.url.path == "/login"
    assert "to continue to Shop &lt;b&gt;&amp; Co" in led.text


@pytest.mark.parametrize(
    "changed", [{"client_id": "nobody"}, {"client_id": "console"}, {"redirect_uri": f"{REDIRECT_URI}/other"}]
)
async def test_no_other_link_lends_itself_the_name_of_an_application(
    served: Served, changed: dict[str, str]
) -> None:
    await served.client(name="The App")
    browser = served.browser()
    led = await browser.get("/sso", params={**authorization("app"), **changed}, follow_redirects=True)
    assert led.url.path == "/login"
    assert "to continue to" not in led.text
    for odd in ("/sso?client_id=%ff&redirect_uri=%00", "/sso?" + "client_id=app&" * 300, "/sso"):
        assert (await browser.get(f"/login?next={odd}")).status_code == 200


async def test_a_photograph_that_is_too_large_is_refused_on_the_page_in_words(
    served: Served, browser: Browser
) -> None:
    account = await browser.get("/account")
    (form,) = [each for each in forms_in(account) if each.action == "/account/picture"]
    for length in (2 * 1024 * 1024 + 1, 6 * 1024 * 1024):
        answer = await browser.post(
            "/account/picture",
            data=form.fields,
            files={"file": ("photo.jpg", b"\xff\xd8\xff" + bytes(length))},
            headers={"Origin": "null", "Sec-Fetch-Site": "same-origin"},
        )
        assert answer.status_code == 413
        assert "make the picture smaller first" in answer.text
        assert "/account/picture" in answer.text
