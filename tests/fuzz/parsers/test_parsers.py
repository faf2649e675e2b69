"""Readers against their oracles: the committed inputs, some hundred new ones, and readers that are sloppy."""

import base64
from collections.abc import Callable
from io import BytesIO
from urllib.parse import parse_qsl, urlsplit

import pytest
from python_calamine import CalamineWorkbook
from quart import request

from fuzz.parsers import of_addresses, of_cookies, of_requests, of_sheets
from fuzz.parsers.running import TARGETS, inputs_of, search, target_named
from fuzz.parsers.target import CORPUS, Target
from ostiary_core.events import AuthenticationMethod, ClientCredentials, SignedIn
from ostiary_core.http.language import Language
from ostiary_core.model.secret import Secret
from ostiary_core.model.why import Why
from ostiary_net.lane.scanner import PlainHead

BY_NAME = {target.name: target for target in TARGETS}
COMMITTED = [(target, name, content) for target in TARGETS for name, content in inputs_of(target)]


@pytest.mark.parametrize(
    "target, name, content", COMMITTED, ids=[f"{target.name}/{name}" for target, name, _ in COMMITTED]
)
def test_a_committed_input_is_read_as_the_oracle_reads_it(target: Target, name: str, content: bytes) -> None:
    target.judge(content)


def test_every_target_has_a_corpus_and_every_corpus_a_target() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(BY_NAME)
    assert all(target.corpus for target in TARGETS)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_new_inputs_are_read_as_the_oracle_reads_them(target: Target) -> None:
    search(target, seed=20, examples=40 if target.name.startswith("sheet") else 150)


def lenient_form(is_form: bool, body: bytes) -> dict[str, str]:
    return dict(parse_qsl(body.decode("latin-1")))


def by_its_beginning(headers: list[tuple[bytes, bytes]]) -> bool:
    return headers[0][1].partition(b";")[0].strip().lower() == of_requests.FORM


def lenient_basic(headers: list[tuple[bytes, bytes]]) -> object:
    try:
        pair = base64.b64decode(headers[0][1][6:]).decode("utf-8")
    except ValueError:
        return Why.CREDENTIALS_MALFORMED
    client_id, _, secret = pair.rpartition(":")
    return ClientCredentials(client_id=client_id, secret=Secret(secret), method=AuthenticationMethod.BASIC)


def first_language(text: str) -> Language:
    return Language.ZH if text.startswith("zh") else Language.EN


def lenient_head(head: bytes) -> PlainHead:
    return PlainHead("GET", "/api/oauth2/userinfo", [], 0)


def latest_of_any_case() -> SignedIn | None:
    """The last one wins, and over https any name that ends so."""
    fields = ";".join(request.headers.getlist("Cookie"))
    pairs = [part.strip().split("=", 1) for part in fields.split(";") if "=" in part]
    found = [value for name, value in pairs if name.lower().endswith("ostiary_access") and value]
    return SignedIn(access_token=Secret(found[-1])) if found else None


def prefix_only(text: str) -> bool:
    return text.startswith(("https://", "http://localhost", "http://127.0.0.1"))


def by_host(text: str) -> str:
    return "/" if urlsplit(text).netloc else text


def left_end(peer: str | None, values: list[bytes], trusted: object) -> str:
    entry = values[0].split(b",")[0].decode("latin-1") if values else ""
    return entry or peer or "local"


def unbounded_sheet(content: bytes) -> object:
    with CalamineWorkbook.from_filelike(BytesIO(content)) as book:
        return tuple(book.get_sheet_by_index(0).to_python())


@pytest.mark.parametrize(
    "name, module, reader, sloppy",
    [
        ("form", of_requests, "read_form", lenient_form),
        ("form-type", of_requests, "says_form", by_its_beginning),
        ("basic", of_requests, "read_basic", lenient_basic),
        ("language", of_requests, "preferred_language", first_language),
        ("lane", of_requests, "read_plain_head", lenient_head),
        ("cookies", of_cookies, "cookie_caller", latest_of_any_case),
        ("redirect-uri", of_addresses, "is_redirect_uri", prefix_only),
        ("return-path", of_addresses, "local_path", by_host),
        ("source", of_addresses, "source_of", left_end),
        ("sheet-cost", of_sheets, "read_sheet", unbounded_sheet),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_sloppy_reader_is_found_out(
    name: str, module: object, reader: str, sloppy: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, reader, sloppy)
    with pytest.raises((AssertionError, ValueError)):
        search(target_named(name), seed=3, examples=400)
