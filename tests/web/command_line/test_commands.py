"""`ostiary client …` and `ostiary user …`: the interface's events and rules, for scripts and for people."""

import json
import os
import pty
import pwd
import re
import select
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ostiary_core.events import ClientSecretReset, Event, UserChanged, UserRequested
from ostiary_core.model.reply import Reply
from ostiary_net.sqlite import SQLiteStore
from ostiary_net.turns.turn_queue import TurnFailed
from ostiary_web.cli.context import OPERATOR, CommandContext
from tests.support.callers import Registered
from tests.support.processes import Machine
from tests.support.served import Served, ask_once

CLIENT = ("client", "create", "app", "--redirect-uri", "https://app.example/callback")


# --- clients


def test_a_client_is_created_with_what_most_have_and_its_secret_shown_this_once(machine: Machine) -> None:
    made = machine.script(*CLIENT)

    assert (made["name"], made["grantTypes"]) == ("app", ["authorization_code", "refresh_token"])
    assert (made["scopes"], made["autoApproveScopes"]) == (["user.read"], [])
    assert (made["accessTokenTtl"], made["refreshTokenTtl"]) == (1_800, 604_800)
    assert len(made["secret"]) >= 43
    assert made["secret"].isalnum()
    [listed] = [item for item in machine.script("client", "list")["items"] if item["clientId"] == "app"]
    assert "secret" not in listed
    assert {**listed, "secret": made["secret"]} == made
    assert machine.script("client", "reset-secret", "app")["secret"] != made["secret"]
    assert machine.script("client", "disable", "app")["enabled"] is False
    assert machine.script("client", "enable", "app")["enabled"] is True


def test_a_client_is_shown_changed_and_deleted_for_good(machine: Machine) -> None:
    made = machine.script(*CLIENT, "--auto-approve", "user.read")
    del made["secret"]
    assert machine.script("client", "show", "app") == made

    said = ("--name", "The App", "--auto-approve", "", "--access-token-ttl", "600")
    changed = machine.script("client", "update", "app", *said)
    asked = {"name": "The App", "autoApproveScopes": [], "accessTokenTtl": 600}
    assert changed == {**made, **asked, "updatedAt": changed["updatedAt"]}
    wrong = machine.run("client", "update", "app", "--redirect-uri", "", "--json").expect_refusal("A0401")
    assert [error["path"] for error in wrong["errors"]] == ["redirectUris"]
    assert machine.run("client", "update", "app").exit_code == 2

    assert machine.run("client", "delete", "app", stdin="n\n").exit_code == 1
    assert machine.run("client", "delete", "app", stdin="").exit_code == 1
    assert machine.script("client", "show", "app") == changed
    assert "for good?" in machine.run("client", "delete", "app", stdin="y\n").err
    machine.run("client", "show", "app", "--json").expect_refusal("A0404")
    machine.run("client", "delete", "app", "--yes", "--json").expect_refusal("A0404")
    machine.run("client", "delete", "console", "--yes", "--json").expect_refusal("B4010")


# --- people


def test_a_user_is_created_with_a_password_from_standard_input(machine: Machine) -> None:
    made = machine.script(
        *("user", "create", "anna", "--name", "Anna Ng", "--phone", "+8613800000000"),
        *("--role", "super_admin", "--locale", "zh-CN"),
        stdin="anna's password\n",
    )

    assert (made["username"], made["name"], made["phone"]) == ("anna", "Anna Ng", "+8613800000000")
    assert (made["roleIds"], made["locale"]) == (["super_admin"], "zh-CN")
    assert (made["enabled"], made["mustChangePassword"]) == (True, True)
    assert "password" not in made


def test_a_password_with_characters_that_no_keyboard_types_is_refused(machine: Machine) -> None:
    for password in ("\ufeffa long password\n", "a long\x1b password\n"):
        refused = machine.run("user", "create", "anna", stdin=password)
        assert (refused.exit_code, "which nobody types" in refused.err) == (2, True)


def test_a_drawn_password_is_printed_this_once(machine: Machine) -> None:
    made = machine.script("user", "create", "anna", "--draw-password", "--keep")

    assert len(made["password"]) == 43
    assert made["mustChangePassword"] is False
    again = machine.script("user", "reset-password", "ANNA", "--draw-password")
    assert again["password"] != made["password"]
    assert (again["id"], again["mustChangePassword"]) == (made["id"], True)
    assert all("password" not in item for item in machine.script("user", "list")["items"])


def test_a_user_is_shown_changed_signed_out_and_deleted_for_good(machine: Machine) -> None:
    made = machine.script("user", "create", "anna", "--draw-password", "--keep")
    del made["password"]
    assert machine.script("user", "show", "ANNA") == made

    said = ("--name", "Anna Ng", "--phone", "138 0013 8000", "--locale", "zh-CN", "--must-change-password")
    changed = machine.script("user", "update", "anna", *said)
    assert (changed["name"], changed["phone"], changed["locale"]) == ("Anna Ng", "+8613800138000", "zh-CN")
    assert (changed["mustChangePassword"], changed["username"]) == (True, "anna")
    assert machine.script("user", "update", "anna", "--phone", "")["phone"] is None
    assert machine.script("user", "update", "anna", "--new-username", "ann")["id"] == made["id"]
    assert machine.script("user", "update", "ann", "--new-username", "anna")["username"] == "anna"
    assert machine.run("user", "update", "anna").exit_code == 2
    wrong = machine.run("user", "update", "anna", "--timezone", "Mars", "--json").expect_refusal("A0401")
    assert [error["path"] for error in wrong["errors"]] == ["timezone"]

    assert made["secondFactor"] is False
    assert machine.script("user", "reset-second-factor", "anna")["secondFactor"] is False
    assert machine.script("user", "end-sessions", "anna")["id"] == made["id"]
    ended = [entry for entry in machine.run("audit", "export").out.splitlines() if "user_forced_out" in entry]
    assert len(ended) == 1

    assert machine.run("user", "delete", "anna", stdin="n\n").exit_code == 1
    assert "for good?" in machine.run("user", "delete", "anna", stdin="y\n").err
    machine.run("user", "show", "anna", "--json").expect_refusal("A0404")
    machine.run("user", "delete", "admin", "--yes", "--json").expect_refusal("B1001")


def test_roles_of_a_user_are_added_and_removed(machine: Machine) -> None:
    machine.script("user", "create", "anna", "--draw-password")

    added = machine.script("user", "roles", "anna", "--add", "super_admin")
    assert added["roleIds"] == ["super_admin"]
    assert machine.script("user", "roles", "anna") == added
    assert machine.script("user", "roles", "anna", "--remove", "super_admin")["roleIds"] == []
    machine.run("user", "roles", "anna", "--add", "none", "--json").expect_refusal("A0401")
    machine.run("user", "roles", "admin", "--remove", "super_admin", "--json").expect_refusal("B1001")


def test_roles_taken_away_meanwhile_stay_away(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another command takes a role away while this one gives it."""
    machine.script("user", "create", "anna", "--role", "super_admin", "--draw-password")
    decide = CommandContext.decide

    async def decide_and_take_away(context: CommandContext, event: Event) -> Reply:
        reply = await decide(context, event)
        if isinstance(event, UserRequested):
            taken: dict[str, object] = {"roleIds": []}
            await decide(context, UserChanged(caller=OPERATOR, user_id=event.user_id, fields=taken))
        return reply

    with monkeypatch.context() as patch:
        patch.setattr(CommandContext, "decide", decide_and_take_away)
        machine.run("user", "roles", "anna", "--add", "super_admin")
    assert machine.script("user", "roles", "anna")["roleIds"] == []


@pytest.mark.parametrize(
    "words, code, paths",
    [
        ("client create console --grant client_credentials", "A0409", "clientId"),
        ("client disable console", "B4010", ""),
        ("client reset-secret nobody", "A0404", ""),
        (
            "client create a/b --redirect-uri http://evil.example --access-token-ttl 1 --scope all --grant x",
            "A0401",
            "accessTokenTtl clientId grantTypes.0 redirectUris.0 scopes.0",
        ),
        ("user disable admin", "B1001", ""),
        ("user reset-password nobody --draw-password", "A0404", ""),
        ("user create admin --draw-password", "A0409", "username"),
        ("user create a/b --phone none", "A0401", "password phone username"),
        ("user reset-password admin", "A0401", "password"),
    ],
)
def test_the_rules_are_those_of_the_interface(machine: Machine, words: str, code: str, paths: str) -> None:
    refused = machine.run(*words.split(), "--json", stdin="short\n").expect_refusal(code)
    assert sorted(error["path"] for error in refused["errors"]) == paths.split()


def test_a_password_cannot_be_an_argument(machine: Machine) -> None:
    for words in ("create anna --password xxxxxxxxx", "reset-password admin xxxxxxxxx", "create anna"):
        assert machine.run("user", *words.split(), stdin="").exit_code == 2, words
    assert machine.script("user", "list")["total"] == 1


def test_at_a_terminal_the_password_is_asked_for_twice_and_not_shown(machine: Machine) -> None:
    terminal, its_other_end = pty.openpty()
    command = [sys.executable, "-m", "ostiary_web", "user", "create", "anna", "--json"]
    streams: dict[str, Any] = {"stdin": its_other_end, "stdout": subprocess.PIPE, "stderr": its_other_end}
    environment = os.environ | machine.environment
    process = subprocess.Popen(command, env=environment, start_new_session=True, **streams)
    os.close(its_other_end)
    seen = b""
    try:
        for times in (1, 2):
            while seen.lower().count(b"password:") + seen.count(b"confirmation:") < times:
                ready, _, _ = select.select([terminal], [], [], 30)
                assert ready, seen
                seen += os.read(terminal, 1_024)
            os.write(terminal, b"anna's password\n")
        out, _ = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert process.returncode == 0, seen
    assert b"anna's password" not in seen + out
    assert [item["username"] for item in machine.script("user", "list")["items"]] == ["admin", "anna"]


# --- several records


def test_several_users_are_changed_each_by_itself(machine: Machine) -> None:
    for name in ("anna", "bert", "carl"):
        machine.script("user", "create", name, "--draw-password")

    ran = machine.run("user", "disable", "anna", "nobody", "admin", "bert", "--json")
    done = [(item["username"], item["enabled"]) for item in json.loads(ran.out)["items"]]
    assert done == [("anna", False), ("bert", False)]
    refused = [json.loads(line) for line in ran.err.splitlines()]
    assert [(each["name"], each["code"]) for each in refused] == [("nobody", "A0404"), ("admin", "B1001")]
    assert ran.exit_code == 1

    ran = machine.run("user", "enable", "anna", "bert", "nobody")
    assert [line.split()[0] for line in ran.out.splitlines()] == ["USER", "anna", "bert"]
    assert (ran.exit_code, ran.err) == (1, "ostiary: nobody: A0404 Not found.\n")
    changed = machine.script("user", "update", "anna", "bert", "--locale", "zh-CN")["items"]
    assert [item["locale"] for item in changed] == ["zh-CN", "zh-CN"]
    given = machine.script("user", "roles", "anna", "bert", "--add", "super_admin")["items"]
    assert [item["roleIds"] for item in given] == [["super_admin"], ["super_admin"]]
    reset = ("user", "reset-password", "anna", "bert")
    assert len({item["password"] for item in machine.script(*reset, "--draw-password")["items"]}) == 2
    assert "PASSWORD, SHOWN" in machine.run(*reset, "--draw-password").lines[0]
    assert machine.run(*reset, stdin="a long password\n").exit_code == 2
    asked = machine.run("user", "delete", "bert", "carl", stdin="n\n")
    assert (asked.exit_code, "Delete bert, carl for good?" in asked.err) == (1, True)
    many = machine.run("user", "delete", *map(str, range(25)), stdin="n\n")
    named, more = re.findall(r"Delete (.*) and (\d+) more", many.err)[0]
    assert len(named.split(", ")) + int(more) == 25
    assert len(machine.script("user", "delete", "bert", "carl", "--yes")["items"]) == 2
    assert machine.script("user", "list")["total"] == 2


def test_names_are_read_from_standard_input(machine: Machine) -> None:
    for name in ("one", "two", "three"):
        machine.script("client", "create", name, "--grant", "client_credentials")

    shown = machine.script("client", "show", "-", "one", stdin="two\n\n three \nthree\n")["items"]
    assert [item["clientId"] for item in shown] == ["one", "two", "three"]
    assert machine.script("client", "show", "-", stdin="one")["items"][0]["clientId"] == "one"
    drawn = machine.script("client", "reset-secret", "-", stdin="one\ntwo\n")["items"]
    assert len({item["secret"] for item in drawn}) == 2
    nobody = machine.run("client", "delete", "-", stdin="one\ntwo\n")
    assert (nobody.exit_code, "allowed: --yes" in nobody.err) == (2, True)
    assert machine.run("client", "disable", "-", stdin="\n").exit_code == 2
    assert len(machine.script("client", "delete", "-", "--yes", stdin="one\ntwo\n")["items"]) == 2
    assert machine.script("client", "list", "--built-in", "no")["total"] == 1


def test_results_before_a_failure_are_printed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store fails at the second client, and the secret of the first is printed."""
    for name in ("one", "two"):
        machine.script("client", "create", name, "--grant", "client_credentials")
    decide = CommandContext.decide

    async def decide_but_one(context: CommandContext, event: Event) -> Reply:
        if isinstance(event, ClientSecretReset) and event.client_id == "two":
            raise TurnFailed
        return await decide(context, event)

    monkeypatch.setattr(CommandContext, "decide", decide_but_one)
    ran = machine.run("client", "reset-secret", "one", "two", "--json")
    [reset] = json.loads(ran.out)["items"]
    assert (reset["clientId"], len(reset["secret"])) == ("one", 43)
    assert (ran.exit_code, ran.err.startswith("ostiary: the store could not be used")) == (1, True)


def test_a_list_is_searched_paged_and_sorted_and_takes_yes_and_no_as_printed(machine: Machine) -> None:
    for name in ("anna", "annette", "bert"):
        machine.script("user", "create", name, "--draw-password")
    assert machine.script("user", "disable", "bert")["enabled"] is False

    def listed(*words: str) -> list[str]:
        return [item["username"] for item in machine.script("user", "list", *words)["items"]]

    latest_first = ["bert", "annette", "anna", "admin"]
    assert listed("--search", "ANN") == ["anna", "annette"]
    assert listed("--page-size", "2", "--page", "2") == ["annette", "bert"]
    assert listed("--sort", "-username") == latest_first
    assert listed("--sort", "-created-at") == listed("--sort", "-createdAt") == latest_first
    for no in ("no", "No", "false", "否"):
        assert listed("--enabled", no) == ["bert"], no
    assert listed("--enabled", "yes") == ["admin", "anna", "annette"]
    assert machine.script("user", "enable", "bert")["enabled"] is True
    assert machine.run("user", "list", "--enabled", "perhaps").exit_code == 2


# --- roles and sessions


def test_roles_are_listed_and_shown(machine: Machine) -> None:
    [listed] = machine.script("role", "list", "--built-in", "yes")["items"]

    assert (listed["code"], listed["builtIn"]) == ("super_admin", True)
    assert machine.script("role", "show", "super_admin") == listed
    lines = machine.run("role", "show", "super_admin").lines
    assert ["Code", "super_admin"] in [line.split() for line in lines]
    assert machine.run("role", "show", "none").err == "ostiary: none: A0404 Not found.\n"


def test_sessions_are_listed_shown_and_ended(machine: Machine, tmp_path: Path) -> None:
    machine.script("user", "create", "anna", "--keep", stdin="correct horse battery\n")
    secret = machine.client()

    async def start(served: Served) -> list[int]:
        api = served.api()
        bodies = [{"username": name, "password": "correct horse battery"} for name in ("admin", "anna")]
        answers = [await api.post("/api/auth/login", json=body) for body in bodies]
        answers.append(await api.service("token", Registered("app", secret), grant_type="client_credentials"))
        return [answer.status_code for answer in answers]

    assert ask_once(tmp_path, start) == [200, 200, 200]
    assert machine.script("session", "list")["total"] == 3
    [hers] = machine.script("session", "list", "--user", "Anna")["items"]
    assert (hers["username"], hers["kind"]) == ("anna", "login")
    [machines] = machine.script("session", "list", "--kind", "machine")["items"]
    assert machine.script("session", "list", "--user", "nobody")["total"] == 0
    assert machine.script("session", "show", hers["id"]) == hers
    assert hers["id"] in machine.run("session", "list", "--sort", "-last-seen-at").out

    ids = f"{hers['id']}\n{machines['id']}\nunknown\n"
    ran = machine.run("session", "end", "-", "--json", stdin=ids)
    assert json.loads(ran.out)["items"] == [{"id": id, "ended": True} for id in ids.split()[:2]]
    assert (ran.exit_code, json.loads(ran.err)["name"]) == (1, "unknown")
    assert [item["username"] for item in machine.script("session", "list")["items"]] == ["admin"]
    machine.run("session", "show", hers["id"], "--json").expect_refusal("A0404")
    assert machine.script("explain", hers["id"])["why"] == "session_forced_out"
    both = machine.script("explain", hers["id"], machines["id"])["items"]
    assert [each["id"] for each in both] == [hers["id"], machines["id"]]
    assert machine.run("explain", hers["id"], machines["id"]).lines.count("") == 1, "between the two"


# --- for people, in their language


def test_tables_line_up_whatever_the_width_of_their_letters(machine: Machine) -> None:
    machine.script(*CLIENT, "--name", "统一认证")
    machine.script("client", "create", "b", "--grant", "client_credentials", "--name", "Plain")

    lines = machine.run("client", "list").lines

    assert re.split(r"\s{2,}", lines[0]) == ["CLIENT ID", "NAME", "GRANTS", "ENABLED", "CREATED AT"]
    assert len(lines) == 5
    grants = lines[0].index("GRANTS")
    [chinese] = [line for line in lines if "统一认证" in line]
    [plain] = [line for line in lines if "Plain" in line]
    assert plain.index("client_credentials") == grants
    assert chinese.index("authorization_code") == grants - len("统一认证")


def test_a_person_sees_the_secret_how_many_there_are_and_which_fields_are_bad(machine: Machine) -> None:
    lines = machine.run(*CLIENT).lines
    [secret] = [line for line in lines if line.startswith("Secret, shown this once")]
    assert secret.split()[-1].isalnum()
    assert any(line.split() == ["Enabled", "yes"] for line in lines)
    assert machine.run("client", "list", "--page-size", "1", "--page", "2").err == "2 to 2 of 3\n"
    assert machine.run("client", "list", "--search", "nothing").err == "0 to 0 of 0\n"
    ran = machine.run("client", "create", "other", "--redirect-uri", "ftp://x")
    first, second, *_ = ran.err.splitlines()
    assert (ran.exit_code, first) == (1, "ostiary: other: A0401 Some fields are not valid.")
    assert second.startswith("  --redirect-uri ftp://x must begin with https://")


def test_a_refusal_names_what_was_not_found_and_the_option_as_it_was_typed(machine: Machine) -> None:
    machine.script("user", "create", "anna", "--draw-password")
    machine.client()
    for words, said in (
        ("user show nobody", "ostiary: nobody: A0404 Not found.\n"),
        ("client create x", "  --redirect-uri needs at least one redirect URI"),
        ("client create a/b --grant client_credentials", "  CLIENT_ID must be 1 to 64"),
        ("user create a/b --role none --draw-password", "  USERNAME must"),
        ("user update anna --new-username a/b", "  --new-username must"),
        ("user update anna --role super_admin --role none", "  --role none "),
        ("user roles anna --add super_admin --add none", "  --add none "),
        ("user roles anna --remove none", "  --remove none "),
        ("client reset-secret app --keep-old-for 90d", "  --keep-old-for must be "),
        ("user list --last-sign-in-at-from soon", "--last-sign-in-at-from: must be "),
        ("user list --sort name,colour", "--sort: "),
    ):
        ran = machine.run(*words.split())
        assert (ran.exit_code, ran.out, said in ran.err) == (2 if " list" in words else 1, "", True), ran
    refused = machine.run("user", "show", "nobody", "--json").expect_refusal("A0404")
    assert (refused["name"], refused["errors"]) == ("nobody", [])


def test_the_language_is_that_of_the_option_or_of_the_environment(machine: Machine) -> None:
    english, chinese = "ostiary: nobody: A0404 Not found.\n", "ostiary: nobody: A0404 未找到\n"
    for options, env, message in (
        ("", {"LANG": "en_US.UTF-8"}, english),
        ("", {"LANG": "zh_CN.UTF-8"}, chinese),
        ("", {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, english),
        ("", {"LANG": "C", "LC_MESSAGES": "zh_CN"}, chinese),
        ("--language zh-CN", {"LANG": "C"}, chinese),
        ("--language en-US", {"LANG": "zh_CN"}, english),
    ):
        ran = machine.run("client", "disable", "nobody", *options.split(), env=env)
        assert (ran.exit_code, ran.out, ran.err) == (1, "", message), (options, env)


# --- commands that fail, and their traces


def test_a_command_that_cannot_be_understood_exits_with_2(machine: Machine) -> None:
    for words in (
        "client",
        "client create",
        *[f"client list --{option}" for option in ("page-size 201", "page 0", "language fr")],
        "user create a --locale fr",
        "explain",
        "no-such-command",
    ):
        assert machine.run(*words.split()).exit_code == 2, words


def test_a_command_is_in_the_audit_trail_without_a_request(machine: Machine, tmp_path: Path) -> None:
    machine.script(*CLIENT)

    with SQLiteStore(tmp_path / "ostiary.db") as store:
        last = store.audit()[-1]

    assert (last.kind.value, last.client_id) == ("client-registered", "app")
    assert (last.actor_id, last.actor_name) == ("command-line", pwd.getpwuid(os.getuid()).pw_name)
    assert (last.actor_session_id, last.source, last.trace_id, last.user_agent) == (None, None, None, None)


def test_the_old_secret_is_given_the_time_that_was_asked_for_and_ended_before_it(machine: Machine) -> None:
    drawn = {machine.client()}
    asked = {"60": 60, "90s": 90, "30m": 1_800, "12h": 43_200, "30d": 2_592_000}
    for duration, seconds in asked.items():
        before, lasts = datetime.now(UTC), timedelta(seconds=seconds)
        drawn.add(machine.script("client", "reset-secret", "app", "--keep-old-for", duration)["secret"])
        until = datetime.fromisoformat(machine.script("client", "show", "app")["oldSecretUntil"])
        # The interface shows whole seconds or finer, and never more than there is.
        assert before + lasts - timedelta(seconds=1) <= until <= datetime.now(UTC) + lasts
    assert len(drawn) == 1 + len(asked)
    machine.script("client", "end-old-secret", "app")
    assert machine.script("client", "show", "app")["oldSecretUntil"] is None
    for duration in ("soon", "1w", "-5m", "1.5h", ""):
        ran = machine.run("client", "reset-secret", "app", "--keep-old-for", duration)
        assert (ran.exit_code, "is not a duration" in ran.err) == (2, True), duration
