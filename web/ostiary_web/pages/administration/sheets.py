"""Importing a sheet of records as a page: all of it or nothing, with every bad row named."""

from typing import Any

from quart import Blueprint, Response

from ostiary_core.http.envelope import field_text
from ostiary_core.model.decision import Refused
from ostiary_web.pages.administration.admission import admitted, admitted_form
from ostiary_web.pages.visit import Visit, page
from ostiary_web.resources.declared import Declared
from ostiary_web.resources.imports import Imported, take_sheet

__all__ = ["add_import"]


def add_import(blueprint: Blueprint, declared: Declared[Any, Any], place: str) -> None:
    """The form for a sheet, and what became of the one that was sent."""

    async def show_import() -> Response:
        found = await admitted(declared.permissions.create)
        return found if isinstance(found, Response) else await _form(found[0], declared, place)

    async def take_import() -> Response:
        came = await admitted_form(declared.permissions.create, f"{place}/import")
        if isinstance(came, Response):
            return came
        sent, call = came
        return await _form(sent.visit, declared, place, await take_sheet(call, declared))

    blueprint.add_url_rule(f"{place}/import", "show_import", show_import, methods=["GET"])
    blueprint.add_url_rule(f"{place}/import", "take_import", take_import, methods=["POST"])


async def _form(
    visit: Visit,
    declared: Declared[Any, Any],
    place: str,
    taken: Imported | Refused | None = None,
) -> Response:
    refused = taken if isinstance(taken, Refused) else None
    return await page(
        visit,
        "administration/import.html",
        place=place,
        refused=refused,
        faults=()
        if refused is None
        else [f"{fault.path}: {field_text(fault, visit.language)}" for fault in refused.faults],
        title=declared.title.in_language(visit.language),
        template_address=f"{declared.path}/import-template",
        done=taken if isinstance(taken, Imported) else None,
    )
