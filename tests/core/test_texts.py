"""The catalogue: every text in every language, none too many; and a language that is one file more."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import ostiary_core
from ostiary_core import SPECIFICATION, Done, FieldRule, MemoryStore, Policy, Refused, Reply, UserKnown, Why
from ostiary_core.events import LocaleChosen, Operator, UserChanged
from ostiary_core.http import Request, TokenEndpoint
from ostiary_core.http.envelope import failure
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.client import SCOPES
from ostiary_core.model.fields import FieldFault
from ostiary_core.texts import CHINESE, ENGLISH, LANGUAGES, Language, Languages
from tests.core.test_http_service import answer_of
from tests.support.languages import MADE_UP, THREE, assert_says_the_same, keys_in, made_up, strings_in
from tests.support.story import given

ROOT = Path(ostiary_core.__file__).parent


def families() -> set[str]:
    """Return the keys that are made of a value of an enumeration."""
    return {
        *(f"refusal.{why}" for why in Why if MEANINGS[why].description is None),
        *(f"field.{rule}" for rule in FieldRule),
        *(f"scope.{scope}" for scope in SCOPES),
    }


def test_every_key_has_a_text_and_every_text_is_used() -> None:
    assert families() | keys_in(strings_in(ROOT), ENGLISH) == ENGLISH.texts.keys()


@pytest.mark.parametrize("language", [*LANGUAGES], ids=lambda language: language.tag)
def test_every_language_says_the_same(language: Language) -> None:
    assert_says_the_same(language, ENGLISH)


@pytest.mark.parametrize(
    "header, language",
    [
        (None, ENGLISH),
        ("", ENGLISH),
        ("zh-CN", CHINESE),
        ("zh", CHINESE),
        ("ZH-hant;q=0.5", CHINESE),
        ("zh-Hant-TW-x-" + "a" * 100, CHINESE),
        ("en;q=0.5, zh;q=0.6", CHINESE),
        ("en, zh", ENGLISH),
        ("zh;q=0, en;q=0.1", ENGLISH),
        ("fr", ENGLISH),
        ("zh;q=nonsense", ENGLISH),
        ("*;q=0.1, zh;q=0.2", CHINESE),
        ("en;q=0,*", CHINESE),
        ("en-US;q=0.0, *;q=0.1", CHINESE),
        ("en;q=0", CHINESE),
        ("en;q=0, zh;q=0, *", MADE_UP),
        ("en;q=0, zh;q=0, qaa;q=0, *", ENGLISH),
        ("*;q=0", ENGLISH),
        ("en-GB;q=0, *", ENGLISH),
        ("en;q=0.5, *", CHINESE),
        ("en;q=0.5, *;q=0.1", ENGLISH),
        ("en;q=0, en-US;q=0.2, *;q=0.1", ENGLISH),
        ("qaa", MADE_UP),
        ("fr, QAA-qm;q=0.9, zh;q=0.8", MADE_UP),
        ("qaa-Latn, en", MADE_UP),
        ("qa, zh", CHINESE),
        (", ".join(["fr"] * 20 + ["qaa"]), ENGLISH),
    ],
)
def test_messages_follow_accept_language(header: str | None, language: Language) -> None:
    assert THREE.negotiate(header) is language


def test_a_language_of_its_own_is_found_before_another_of_the_same_tongue() -> None:
    taiwan = replace(CHINESE, tag="zh-TW")
    languages = Languages((ENGLISH, CHINESE, taiwan))
    assert languages.negotiate("zh-TW") is taiwan
    assert languages.negotiate("zh-Hant") is CHINESE
    assert languages.by_tag("zh-TW") is taiwan
    assert languages.by_tag("zh-tw") is languages.by_tag("zh") is languages.by_tag(None) is None


def test_a_key_with_two_texts_and_a_list_without_a_language_are_refused() -> None:
    assert ENGLISH.with_texts({"page.title": "Title"}).text("page.title") == "Title"
    with pytest.raises(ValueError, match=r"scope\.user\.read"):
        ENGLISH.with_texts({"scope.user.read": "again"})
    with pytest.raises(ValueError, match="en-US"):
        Languages((ENGLISH, replace(CHINESE, tag="en-US")))
    with pytest.raises(ValueError, match="at least one"):
        Languages(())


def test_a_plural_takes_the_form_of_its_number() -> None:
    text = "{count:one=Once|other={count} times}."
    counting = ENGLISH.with_texts({"page.times": text})
    made = made_up(counting)
    assert counting.text("page.times", count=1) == "Once."
    assert counting.text("page.times", count=2) == "2 times."
    for count, form in ((1, "one"), (2, "few"), (5, "many"), (12, "many"), (22, "few")):
        assert made.text("page.times", count=count) == f"«{form}: {count} times.»"
    with pytest.raises(ValueError, match="format"):
        counting.text("page.times", count="2")


def test_a_third_language_is_one_file_and_is_spoken_wherever_the_core_speaks() -> None:
    store, endpoint = MemoryStore(Policy(locales=THREE.tags)), TokenEndpoint(languages=THREE)
    request = Request.of("GET", "/api/oauth2/userinfo", [("Accept-Language", "qaa")], source="203.0.113.9")
    answer = answer_of(request, store, endpoint)
    said = "«You are not signed in, or the token is not valid.»"
    assert (answer.status, json.loads(answer.body)["msg"]) == (401, said)
    failed = endpoint.failure(request, "trace")
    assert json.loads(failed.body)["msg"] == "«Something went wrong on the server.»"

    world = given(policy=Policy(locales=THREE.tags))
    caller = world.caller()
    for locale in THREE.tags:
        world.when(LocaleChosen(caller=caller, locale=locale)).then(Done)
        assert world.user().locale == locale
    [fault] = world.when(LocaleChosen(caller=caller, locale="fr")).then(Refused).faults
    told = failure(Why.FIELDS_INVALID, MADE_UP, "trace", faults=[fault, FieldFault("id", Why.NOT_FOUND)])
    assert json.loads(told.body)["errors"] == [
        {"path": "locale", "msg": "«must be en-US« or »zh-CN« or »qaa-QM»"},
        {"path": "id", "msg": MADE_UP.text(f"refusal.{Why.NOT_FOUND}")},
    ]


def test_a_language_that_is_spoken_no_more_stays_that_of_its_accounts() -> None:
    world = given(policy=Policy(locales=THREE.tags))
    world.given(LocaleChosen(caller=world.caller(), locale=MADE_UP.tag))
    store, user_id = world.store, world.user().user_id
    store.policy = SPECIFICATION

    def change(**fields: object) -> Reply:
        [decision] = store.turn([UserChanged(caller=Operator(), user_id=user_id, fields=fields)], world.now)
        return decision.reply

    assert isinstance(change(name="Another name"), UserKnown)
    assert isinstance(change(locale=MADE_UP.tag), UserKnown)
    assert isinstance(change(locale="fr-FR"), Refused)
    assert isinstance(change(locale="en-US"), UserKnown)
    assert isinstance(change(locale=MADE_UP.tag), Refused)
