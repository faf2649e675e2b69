"""The document is complete and in itself right: every route is in it, and nothing that is not there."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest

from ostiary_core.http.meanings import MEANINGS
from ostiary_web.api_document.operations import described_path
from ostiary_web.http.gate import gate_of
from tests.support.callers import APP, DOCUMENT

Operation = tuple[str, str]


def bare(path: str) -> str:
    """A path without the names of its variable parts."""
    return re.sub(r"\{[^{}]*\}", "{}", path)


def routes() -> dict[Operation, Any]:
    """Every method and path that is no page, with its view; the document does not describe itself."""
    return {
        (method.lower(), bare(described_path(rule.rule))): APP.view_functions[rule.endpoint]
        for rule in APP.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.rule.startswith(("/api/", "/files/", "/healthz", "/readyz"))
        and not rule.rule.startswith("/api/docs")
    }


def operations() -> dict[Operation, dict[str, Any]]:
    return {
        (method, bare(path)): operation
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
    }


def within(part: Any) -> Iterator[dict[str, Any]]:
    """Every object in a piece of the document."""
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from within(value)
    elif isinstance(part, list):
        for value in part:
            yield from within(value)


def test_every_route_is_described_and_nothing_else() -> None:
    assert set(operations()) == set(routes())
    assert len(routes()) > 60


def test_the_document_is_json_and_names_its_version() -> None:
    assert json.loads(json.dumps(DOCUMENT)) == DOCUMENT
    assert DOCUMENT["openapi"].startswith("3.1")
    assert DOCUMENT["info"]["version"] == version("ostiary")


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    named = {part["$ref"] for part in within(DOCUMENT) if "$ref" in part}
    assert named == {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}


def test_every_operation_has_a_name_of_its_own_and_a_summary() -> None:
    names = Counter(operation["operationId"] for operation in operations().values())
    assert [name for name, times in names.items() if times > 1] == []
    assert all(operation["summary"] for operation in operations().values())


def test_every_operation_stands_under_a_heading_that_is_explained() -> None:
    used = {tag for operation in operations().values() for tag in operation["tags"]}
    assert used == {tag["name"] for tag in DOCUMENT["tags"]}


def test_the_variable_parts_of_a_path_are_its_parameters() -> None:
    for path, methods in DOCUMENT["paths"].items():
        for operation in methods.values():
            listed = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"]
            assert listed == re.findall(r"\{([^{}]*)\}", path), path


@pytest.mark.parametrize("key", sorted(routes()), ids=" ".join)
def test_who_may_call_is_said(key: Operation) -> None:
    operation, gate = operations()[key], gate_of(routes()[key])
    statuses = set(operation["responses"])
    if gate is not None and gate.permission is not None and key[1].startswith("/api/"):
        assert operation["security"] == [{"login": []}, {"personalToken": []}]
        assert {"401", "403"} <= statuses
    if operation["security"] and {} not in operation["security"]:
        assert "401" in statuses


def test_every_answer_of_the_interface_says_what_a_fault_of_the_server_looks_like() -> None:
    for (_, path), operation in operations().items():
        if path.startswith("/api/"):
            assert "500" in operation["responses"], path


def test_codes_stand_under_the_status_that_they_come_with() -> None:
    status_of: dict[str, set[str]] = {}
    for meaning in MEANINGS.values():
        status_of.setdefault(meaning.code, set()).add(str(meaning.status))
    for operation in operations().values():
        refusals = {status: each for status, each in operation["responses"].items() if status[0] in "45"}
        for status, answer in refusals.items():
            for part in within(answer):
                for code in part.get("properties", {}).get("code", {}).get("enum", ()):
                    assert status in status_of[code], (operation["operationId"], code)
