"""`/api/monitor/overview` and `/admin`: the counts, the state of the server, and who may see each of them."""

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from ostiary_core.model.instant import iso_time
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import SessionKind
from ostiary_net.observability.summaries import HOUR_MS, REFUSALS_KEPT, Metric, Tally
from ostiary_web.application.overview_counts import Counts
from tests.support.callers import Api, Registered, expect_refusal, fields_of, sso
from tests.support.people import browser_of, holder_of
from tests.support.served import Served, in_memory, serving

PATH = "/api/monitor/overview"


async def a_day(served: Served) -> None:
    """Let a client refresh, retry late, and send a wrong secret and a wrong address."""
    app = await served.client()
    await served.user("anna")
    pair = await served.tokens(app, "anna", "anna's password")
    served.clock.wait(3_600)
    await served.api().refresh(app, pair["refresh_token"])
    served.clock.wait(25)
    await served.api().refresh(app, pair["refresh_token"])
    served.clock.wait(10)
    await served.api().refresh(app, pair["refresh_token"])
    for _ in range(3):
        await served.api().service("introspect", Registered("app", "wrong"), token="x")
    for name in ("nobody", "nobody else"):
        await served.api().service("introspect", Registered(name, "wrong"), token="x")
    for wrong in "?!":
        await served.api().call("POST", "/api/auth/login", {"username": "anna", "password": wrong})
    browser = await served.sign_in_browser("anna", "anna's password")
    await browser.get(sso("app", redirect_uri="https://elsewhere.example/"))


async def overview(api: Api, **query: str) -> dict[str, Any]:
    data: dict[str, Any] = await api.succeed("GET", PATH, params=query)
    return data


@pytest.mark.parametrize(
    "start, end, per, periods",
    [
        ("2027-01-10T00:00:00+08:00", "2027-01-13T00:00:00+08:00", "day", 3),
        ("2027-01-10T00:00:00+08:00", "2027-01-13T00:00:00.001+08:00", "day", 4),
        ("2027-01-10T00:00:00+08:00", "2027-01-12T00:00:00+08:00", "hour", 48),
        ("2027-01-10T00:00:00+08:00", "2027-01-11T23:00:00.001+08:00", "hour", 48),
        ("2027-01-10T00:00:00+08:00", "2027-01-10T00:00:00+08:00", "hour", 1),
        ("2026-01-01T00:00:00+08:00", "2027-02-05T00:00:00+08:00", "day", 400),
        ("1970-01-01T00:00:00Z", "1970-01-01T01:00:00Z", "hour", 1),
    ],
)
async def test_a_span_ends_at_the_midnight_or_hour_that_is_asked_for(
    start: str, end: str, per: str, periods: int, api: Api
) -> None:
    found = await overview(api, **{"from": start, "to": end})
    assert (found["per"], len(found["periods"])) == (per, periods)
    assert (found["totals"]["retryMeanMs"], found["beginsAt"]) == (0, found["periods"][0]["beginsAt"])


async def test_what_runs_now_is_of_no_hour_but_this(served: Served) -> None:
    served.clock.wait(-served.clock.now() % HOUR_MS / 1_000)
    api = await served.administrator()
    now = iso_time(served.clock.now())
    assert {each["running"] for each in (await overview(api, to=now))["periods"]} == {None}


def test_what_is_counted_as_often_as_another_stands_in_order_of_names() -> None:
    counts = Counts()
    for detail in ("wrong", "late", "lost"):
        counts.add(Metric.REFUSED, detail, Tally(1))
    assert list(counts.by_detail(Metric.REFUSED)) == ["late", "lost", "wrong"]


@pytest.mark.parametrize(
    "query, paths",
    [
        ({"from": "yesterday"}, ["from"]),
        ({"from": "2027-01-02T00:00:03Z", "to": "2027-01-02T00:00:00Z"}, ["from"]),
        ({"from": "2027-01-02", "to": "2027-01-01"}, ["from"]),
        ({"from": "2026-01-01", "to": "2027-06-01"}, ["from"]),
        ({"to": "9999-12-31"}, ["to"]),
        ({"from": "0001-01-01", "to": "0001-01-02"}, ["to"]),
        ({"from": "", "zone": "UTC"}, ["zone"]),
        ({"from": ["2027-01-01", "2027-01-02"]}, ["from"]),
    ],
)
async def test_a_time_that_is_none_is_refused(api: Api, query: dict[str, Any], paths: list[str]) -> None:
    assert fields_of(expect_refusal(await api.call("GET", PATH, params=query), 400, "A0401")) == paths


async def test_counts_of_the_trail_and_of_machines_need_other_permissions(served: Served) -> None:
    await a_day(served)
    watcher = await holder_of(served, Permission.ONLINE_LIST)
    await served.summarise()

    found = await overview(watcher)

    totals = found["totals"]
    assert {name for name, value in totals.items() if value is not None} == {"refused"}
    assert totals["refused"]["client_secret_wrong"] == 3
    assert found["clients"][0]["retries"] is None
    assert set(found["running"]) == {"login", "authorization_code", "personal_token"}
    assert not any(each["about"].startswith("client ") for each in found["state"]["findings"])
    browser = await served.sign_in_browser("holder", "the holder's")
    page = (await browser.get("/admin")).text
    assert "3 requests came with a wrong secret of the client app." in page
    assert 'aria-labelledby="refused"' in page
    assert not re.search('id="sign_ins"|retry of the client|/admin/audit|/admin/clients', page)


async def test_a_process_remembers_refusals_of_registered_clients_alone(served: Served) -> None:
    await served.client()
    for number in range(2 * REFUSALS_KEPT):
        for name in ("app", f"stranger{number}"):
            await served.api().service("revoke", Registered(name, "wrong"), token="x")
    for grant in ("client_credentials", "x"):
        await served.api().service("token", Registered("app", "wrong"), grant_type=grant)
    await served.browser().get(sso("app"))
    await (await served.sign_in_browser()).get(sso("stranger"))
    await served.api().call("GET", "/api/oauth2/userinfo", token="x")
    with capture_logs() as log:
        await served.api().call("GET", "/api/iam/users", token="x")
    assert "not observed" not in [line["event"] for line in log]
    tallies, last = served.service.activity.take_refusals()
    assert {key.client_id for key in tallies} == {"", "app"}
    assert {key.detail: tally.number for key, tally in tallies.items() if not key.client_id} == {
        "client_secret_wrong": 2 * REFUSALS_KEPT + 2,
        "client_unknown": 2 * REFUSALS_KEPT,
        "client_not_authorizable": 1,
        "not_signed_in": 1,
    }
    assert [each.client_id for each in last] == ["app"] * REFUSALS_KEPT
    assert [each.operation for each in last][-3:] == ["revoke", "client_credentials", "token"]


# --- the page


async def test_the_page_leads_to_what_was_counted_and_has_a_colour_for_each(served: Served) -> None:
    await a_day(served)
    browser = await served.sign_in_browser()
    await served.summarise()

    page = (await browser.get("/admin")).text

    labels = re.findall('<svg role="img" aria-labelledby="([^"]+)"', page)
    assert all(f'id="{name}"' in page for name in labels)
    assert "style=" not in page
    by_chart = re.findall('class="swatch ([^"]+)" aria-hidden="true"></span><span>([^<]+)', page)
    assert len({*by_chart}) == len({label for _, label in by_chart}), "one meaning has two colours"
    colours = {colour for colour, _ in by_chart}
    assert {*SessionKind, "failed"} <= colours
    sheet = (await browser.get("/static/ostiary.css")).text
    assert [each for each in sorted(colours) if f".{each} {{ --series: " not in sheet] == []
    for address in {unescape(each) for each in re.findall('href="(/admin/[^"]+)"', page)}:
        led = await browser.get(address)
        assert led.status_code == 200, address
        if "/audit?" in address:
            assert "Nothing matches" not in led.text, address


async def test_a_database_with_backups_of_its_own_is_asked_for_none(tmp_path: Path) -> None:
    url = "postgresql://ostiary@db.example/ostiary"
    async with serving(tmp_path, open_store=in_memory(), DATABASE_URL=url) as served:
        page = (await (await browser_of(served, Permission.ONLINE_LIST)).get("/admin")).text
    assert ('id="state"' in page, "ackup" in page) == (True, False)
