"""Users with a hash of another system sign in with their passwords; one unknown hash stops an import."""

from typing import Any

import pytest

from ostiary_core.model.records import Table
from tests.support.callers import Api, expect_refusal, expect_success, fields_of
from tests.support.served import Served
from tests.support.stores import CHEAP
from tests.web.resources.test_convention import USERS
from tests.web.resources.test_export_import import export_list

PASSWORD = "correct horse battery"
MADE_ELSEWHERE = {
    # The hashers of Django 5.2.19, at a low cost: PBKDF2PasswordHasher and Argon2PasswordHasher
    "django": "pbkdf2_sha256$5000$0JA1CsaizUBxyZ2WWQzVkp$2C4k5YLA9iFoR64W4cSe4jUj7LcSqRnYyRGUh4KyAW4=",
    "django-argon2": "argon2$argon2id$v=19$m=1024,t=1,p=2$eEprU3J0ZDBNcGd6Ym94cktUT3lWbw"
    "$Ckx9ms8kLksMzL7E0UispOlMNaiZdXRAxXPV7WI76Ls",
    # passlib 1.7.4, at a low cost: pbkdf2_sha256, pbkdf2_sha512, bcrypt, scrypt, argon2
    "passlib": "$pbkdf2-sha256$1000$AkDIudc65zynFEIopXRubQ$.FnMb6M96nqAeyUtTmBNoyXuL0GYsauw7jrsBf6mSeo",
    "passlib-512": "$pbkdf2-sha512$1000$OOf8HyMEAABgTGktxfj/nw$/DZPJcuc4UlPoLpHKpQiujFIA4Yh2ifqrTrCG.fwIZtDTE"
    "IOo9hORkVYcuUrIk0LziHARmomeeMdDKMJtNMfzw",
    "bcrypt-2b": "$2b$05$srNaFv5MXcNQ/zbdOTksGebnCjFM.6.ZRQA0qptkSoeaT5uqtCeuW",
    "bcrypt-2y": "$2y$05$ERh30AzzIF1n6y1suBBiQ.3xLRMtzy5TNF29Gz7/LxmjksUvC6sG6",
    "scrypt": "$scrypt$ln=10,r=8,p=1$Occ4Z2zt3XuPUUophdA6Rw$bG867r1kIkOSULKTjouNcf6Ok2XrPjlKkD3aktjPYGw",
    "argon2id": "$argon2id$v=19$m=1024,t=2,p=1$kjJGKOV8T0kpZYyxlrLWug"
    "$z4hDSAEZjx8rSdsJlSKnzlXi76lyN/hbLoYMlTmR4y8",
    # As Keycloak before 24 had them, of two blocks: hashlib
    "two-blocks": "$pbkdf2-sha256$1000$AZLwqzNEVWZ3iJkAqrvM3Q$VFEGchdHTrl1s7m2hJgKyfZJtQAcYJYg0YWKy7Gw"
    "G/GS6KCkunM8wqZlhoEfki2WPJIPKK1JmqT7tlzhlDFWAw",
    # generate_password_hash of Werkzeug 3.1, at a low cost
    "werkzeug": "pbkdf2:sha256:1000$5aeIzV2NMNJqOMV4$f6d72ed64a18b277a2816cb99e807fe9"
    "fce6f50b5543633be4bf7fba500fc60d",
    "werkzeug-512": "pbkdf2:sha512:1000$yQPxgtlNijvm7zjz$28129a8402f24f2909119419cf8ec2737822e4fac1b1e2533fee"
    "021903946fbd1ee6863bf3116a58f38e02476837deb7bafc0788daf875eccc12825187dee1c4",
    "werkzeug-scrypt": "scrypt:1024:8:1$Cp2oyj0eCyrdjppf$faf3bb72fd33735ec34421bc11a7f46cfa53e07a2b94e438579"
    "f26ae03aa010f9ee7f9e31de614ffae9b17d9f422e92183d0587e3517d84f2b9eddac6fae259c",
    # The example of "Password Storage" in Spring Security's reference
    "spring": "{bcrypt}$2a$10$dXJ3SW6G7P50lGmMkkmwe.20cQQubK3.HZWzG3YB1tlRy.fqvM/BG",
    # passlib again: of more than the 72 bytes that bcrypt looks at; not in NFKC, as other systems know none
    "long": "$2a$05$PVoqy9gMgbTEpu7lex1X2OSjunnAGqS2XgP1wpD0Pg1J5ueVG.i7m",
    "ligature": "$argon2id$v=19$m=1024,t=1,p=1$Y6wVYiwl5HxvLaV07r0Xgg"
    "$oHxgQe2/7OBRKWAaK2+h29JfJ61YtkWyo6PuKFdCVG0",
}
PASSWORDS = {"spring": "password", "long": "\u00fc" * 40, "ligature": "\ufb01ne ligature"}

BCRYPT, ARGON2, SCRYPT, DJANGO, PASSLIB, TWO_BLOCKS = (
    MADE_ELSEWHERE[name] for name in ("bcrypt-2b", "argon2id", "scrypt", "django", "passlib", "two-blocks")
)
WERKZEUG, WERKZEUG_SCRYPT = MADE_ELSEWHERE["werkzeug"], MADE_ELSEWHERE["werkzeug-scrypt"]
UNKNOWN = [
    *("correct horse battery", "$2b$10$short", "5f4dcc3b5aa765d61d8327deb882cf99", BCRYPT + "x", BCRYPT[:-1]),
    *("{noop}password", "{bcrypt}{bcrypt}" + BCRYPT, BCRYPT.replace("2b", "2x"), BCRYPT[:-1] + "r"),
    *(ARGON2.replace("argon2id", "argon2i"), ARGON2.replace("v=19", "v=16"), ARGON2[:-1] + "1"),
    *(ARGON2.replace("t=2", "t=0"), ARGON2.replace("1024", "7"), ARGON2.replace("1024", "\u0661")),
    *(SCRYPT.replace("ln=10", "ln=0"), SCRYPT.replace("r=8", "r=0"), SCRYPT + "=", "argon2$" + BCRYPT, "!"),
    *(DJANGO[:-1], DJANGO.replace("5000", "0"), DJANGO.replace("sha256", "sha1")),
    *(PASSLIB.replace("sha256", "sha1"), PASSLIB[:-1] + "p", PASSLIB[:-1], PASSLIB.replace("$1000$", "$0$")),
    *(WERKZEUG.replace("256", "1"), WERKZEUG.replace("256", "512"), WERKZEUG.replace("1000", "0")),
    *(WERKZEUG.upper(), WERKZEUG.replace(":1000", ""), WERKZEUG_SCRYPT.replace("1024", "1000")),
    *(WERKZEUG_SCRYPT.replace("1024", "1"), WERKZEUG_SCRYPT[:-1], "md5$x$" + 32 * "a"),
]
TOO_COSTLY = [
    *(BCRYPT.replace("$05$", "$15$"), BCRYPT.replace("$05$", "$03$"), ARGON2.replace("1024", "1048576")),
    *(ARGON2.replace("1024,t=2", "131072,t=9"), ARGON2.replace("p=1", "p=17")),
    *(SCRYPT.replace("ln=10", "ln=18"), SCRYPT.replace("p=1", "p=17"), SCRYPT.replace("ln=10", "ln=99")),
    *(SCRYPT.replace("r=8", "r=999999999"), DJANGO.replace("5000", "4000001")),
    *(WERKZEUG.replace("1000", "4000001"), WERKZEUG_SCRYPT.replace("1024", "262144")),
    *(PASSLIB.replace("1000", "4000001"), TWO_BLOCKS.replace("1000", "2000001")),
]


def sheet_with(hashes: dict[str, str], **more: Any) -> list[list[Any]]:
    people = [[name, name, made, *more.values()] for name, made in hashes.items()]
    return [["username", "name", "passwordHash", *more], *people]


def on_file(served: Served, username: str) -> str:
    [user] = [each for each in served.store.records(Table.USER) if each.username == username]
    return str(user.password_hash)


async def test_each_user_signs_in_as_before_and_the_hash_becomes_ours(served: Served, api: Api) -> None:
    sheet = sheet_with(MADE_ELSEWHERE)
    done = expect_success(await api.import_sheet(USERS.path, sheet, mode="insert"))
    assert (done["created"], done["unchanged"], done["hashesLeft"]) == (len(MADE_ELSEWHERE), 0, 0)
    again = expect_success(await api.import_sheet(USERS.path, sheet))
    assert (again["updated"], again["unchanged"]) == (0, len(MADE_ELSEWHERE))
    for username, made in MADE_ELSEWHERE.items():
        password = PASSWORDS.get(username, PASSWORD)
        wrong = {"username": username, "password": f"x{password}"}
        expect_refusal(await served.api().post("/api/auth/login", json=wrong), 401, "A1002")
        assert made.endswith(on_file(served, username)), "kept as it came until the password is known"
        assert (await served.api().sign_in(username, password))["mustChangePassword"] is False
        ours = on_file(served, username)
        assert not CHEAP.check_needs_rehash(ours)
        await served.api().sign_in(username, password)
        assert on_file(served, username) == ours
    shown = (await api.get(USERS.path, params={"pageSize": "200"})).text
    for text in (shown, str(await export_list(api, USERS)), repr(served.audit())):
        assert "passwordHash" not in text
        assert not any(made[-20:] in text for made in MADE_ELSEWHERE.values())


@pytest.mark.parametrize(
    "hashes, text",
    [(UNKNOWN, "must be a complete hash of argon2id"), (TOO_COSTLY, "takes more than 128 MiB")],
)
async def test_one_bad_hash_stops_an_import(served: Served, api: Api, hashes: list[str], text: str) -> None:
    """A hash that cannot be verified or costs too much stops the whole import."""
    before = served.records()
    sheet = sheet_with({"good": BCRYPT, **{f"bad{place}": made for place, made in enumerate(hashes)}})
    failure = expect_refusal(await api.import_sheet(USERS.path, sheet, mode="insert"), 400, "A0401")
    assert fields_of(failure) == [f"rows.{number}.passwordHash" for number in range(3, 3 + len(hashes))]
    assert all(error["msg"].startswith(text) for error in failure["errors"])
    assert not any(made in str(failure) for made in hashes)
    assert served.records() == before


async def test_a_hash_is_for_new_users_and_stands_alone(served: Served, api: Api) -> None:
    for password in ("anna's password", "short"):
        both = sheet_with({"anna": BCRYPT}, password=password)
        failure = expect_refusal(await api.import_sheet(USERS.path, both, mode="insert"), 400, "A0401")
        assert fields_of(failure) == ["rows.2.passwordHash"]
    asked = sheet_with({"anna": BCRYPT}, mustChangePassword="yes")
    expect_success(await api.import_sheet(USERS.path, asked, mode="insert"))
    assert (await served.api().sign_in("anna", PASSWORD))["mustChangePassword"] is True
    for made in (BCRYPT, "{noop}password"):
        done = expect_success(await api.import_sheet(USERS.path, sheet_with({"anna": made})))
        assert (done["updated"], done["hashesLeft"]) == (0, 1), "it is left (READINGS 50)"
    changed = [["username", "name", "passwordHash"], ["anna", "Anna", BCRYPT]]
    done = expect_success(await api.import_sheet(USERS.path, changed))
    assert (done["updated"], done["hashesLeft"]) == (1, 1)
    new = {**USERS.new("ben"), "passwordHash": BCRYPT}
    assert fields_of(await api.fail(400, "A0401", "POST", USERS.path, new)) == ["passwordHash"]
