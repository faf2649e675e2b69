"""A field that a record declares is in rules, lists, JSON, sheets, pages and commands without more code."""

from dataclasses import fields as members_of, replace
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from zipfile import ZipFile

import click
import msgspec
from click.testing import CliRunner
from werkzeug.datastructures import MultiDict

from ostiary_core.model.changes import FieldChange
from ostiary_core.model.client import CLIENT, Client, is_redirect_uri
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.immutable import immutable
from ostiary_core.model.record_type import Bounds, Kind, RecordField, RecordType, Setting
from ostiary_core.storage.listing import Match, make_listable
from ostiary_core.texts import Languages
from ostiary_net.sql.columns import make_row_codec
from ostiary_web.api_document.members import members_of_change, members_of_new
from ostiary_web.api_document.schemas import Schemas, object_type, record_type
from ostiary_web.application.resources.fields import ListView, add_no_details, encode_item, fields_of
from ostiary_web.application.resources.sheet_rows import read_rows
from ostiary_web.application.resources.sheet_writing import write_template
from ostiary_web.cli import declared_options
from ostiary_web.pages.administration.record_forms import describe_form, fill_form, list_facts, read_form
from ostiary_web.sheets.cells import Number, Row
from ostiary_web.texts import LANGUAGES
from tests.support.story import START

VALID = {"clientId": "app", "name": "App", "grantTypes": ["client_credentials"]}


@immutable(kw_only=True)
class ClientWithMore(Client):
    """A client with three fields that no release has."""

    contact: str | None = None
    terms: str | None = None
    floor: int = 3


TEXT, EDITED = Kind.TEXT, Setting.EDITED
REDIRECT_URI, ACCESS_LIFETIME = FieldRule.REDIRECT_URI, FieldRule.ACCESS_LIFETIME
BLANK = ClientWithMore(**{each.name: getattr(CLIENT.blank, each.name) for each in members_of(Client)})
MORE: RecordType[Any] = replace(
    CLIENT,
    blank=BLANK,
    fields=(
        *CLIENT.fields,
        RecordField("contact", TEXT, "contact", EDITED, most=20, is_filtered=True, is_sorted=True),
        RecordField("terms", TEXT, "terms", EDITED, most=100, is_valid=is_redirect_uri, rule=REDIRECT_URI),
        RecordField("floor", Kind.INTEGER, "floor", EDITED, bounds=Bounds(1, 9, 3), rule=ACCESS_LIFETIME),
    ),
)
ENGLISH = LANGUAGES.default.with_texts(
    {
        "column.clients.contact": "Contact",
        "note.clients.contact": "Whom to ask.",
        "column.clients.terms": "Terms",
        "note.clients.terms": "An address.",
        "column.clients.floor": "Floor",
        "note.clients.floor": "{least} to {most}; {default} if empty.",
    }
)
VIEW: ListView[Any, Any] = ListView(
    name="clients", source=make_listable(MORE), fields=fields_of(MORE, "client"), add_details=add_no_details
)
PAGE: Any = SimpleNamespace(language=ENGLISH, text=ENGLISH.text, duration=lambda seconds: "long")


def read(**more: object) -> Any:
    return MORE.read({**VALID, **more})


def add_shown(client: Any) -> Any:
    """Return the client as a list shows it, with what the store adds."""
    return SimpleNamespace(client=client, last_used_at=None)


def test_the_rules_read_it_and_the_trail_has_its_changes() -> None:
    client = read(contact="anna@example.com")
    assert (client.contact, client.floor) == ("anna@example.com", 3)
    assert read(contact="a" * 21, floor=10) == (
        FieldFault("contact", FieldRule.TOO_LONG),
        FieldFault("floor", ACCESS_LIFETIME),
    )
    assert MORE.changes(client, MORE.edit(client, {"contact": None, "floor": 4}, None)) == (
        FieldChange("contact", "anna@example.com", None),
        FieldChange("floor", 3, 4),
    )
    assert MORE.find_row_edits(client, {**VALID, "floor": 4}) == {"floor": 4}
    assert {name: MORE.defaults()[name] for name in ("contact", "floor")} == {"contact": None, "floor": 3}


def test_lists_and_tables_have_it() -> None:
    listable = make_listable(MORE)
    assert listable.filters["contact"] is Match.CONTAINS
    assert "contact" in listable.sorts
    assert {"contact", "floor"} <= set(make_row_codec(ClientWithMore).columns)


def test_json_and_its_description_have_it() -> None:
    record_shown = encode_item(VIEW.fields, add_shown(read(contact="anna")))
    assert (record_shown["contact"], record_shown["floor"]) == ("anna", 3)
    with patch.object(record_type.__globals__["LANGUAGES"], "default", ENGLISH):
        record = record_type("More", VIEW)
    schemas = Schemas()
    schemas.of(object_type("New", members_of_new(MORE)))
    schemas.of(object_type("Change", members_of_change(MORE, record)))
    for name in ("New", "Change"):
        properties = schemas.components[name]["properties"]
        assert properties["contact"]["anyOf"][0] == {"type": "string", "maxLength": 20}
        assert {"type": "null"} in properties["terms"]["anyOf"]
        bounded = {"type": "integer", "minimum": 1, "maximum": 9, "default": 3}
        assert properties["floor"] | {"default": 3} == bounded


def test_sheets_have_a_column_for_it() -> None:
    template = ZipFile(BytesIO(write_template(VIEW, ENGLISH, Languages([ENGLISH]), START)))
    text = "".join(template.read(name).decode() for name in template.namelist() if "sheet" in name)
    assert "Contact" in text
    assert "1 to 9; 3 if empty." in text
    sheet = (Row(1, ("Contact", "Floor")), Row(2, ("anna", Number(value="4", shown="4"))))
    assert read_rows(VIEW, sheet, Languages([ENGLISH])).by_number == {2: {"contact": "anna", "floor": 4}}


def test_pages_have_it() -> None:
    form = {one.name: one for one in describe_form(PAGE, MORE, is_new=True, hints={}, options={}, stored={})}
    assert (form["contact"].label, form["contact"].control, form["contact"].most) == ("Contact", "text", 20)
    assert form["floor"].hint.startswith("1 ")
    sent = read_form(MORE, MultiDict({"contact": " anna ", "floor": "4"}), is_new=False)
    assert (sent["contact"], sent["floor"]) == ("anna", 4)
    client = read(**{name: sent[name] for name in ("contact", "floor")})
    assert fill_form(MORE, client)["contact"] == "anna"
    facts = {fact.label: fact.value for fact in list_facts(PAGE, MORE, VIEW, add_shown(client), (), {})}
    assert facts["Contact"] == "anna"


def test_commands_have_an_option_for_it() -> None:
    given: dict[str, object] = {}

    def command(fields: dict[str, object]) -> None:
        given.update(fields)

    with patch.object(declared_options, "LANGUAGES", Languages([ENGLISH])):
        made = click.command()(declared_options.with_field_options(MORE, {})(command))
    assert "Floor; 1 to 9." in CliRunner().invoke(made, ["--help"]).output
    CliRunner().invoke(made, ["--contact", "anna", "--floor", "4"])
    assert given == {"contact": "anna", "floor": 4}
    assert msgspec.json.encode(given) == b'{"contact":"anna","floor":4}'
