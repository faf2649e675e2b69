"""Importing a sheet of records as a page: all of it or nothing, with every bad row named."""

from typing import Any

from quart import Response

from ostiary_core.http.envelope import field_text
from ostiary_core.model.reply import Refused
from ostiary_web.api.resources.exports import answer_template
from ostiary_web.api.resources.imports import Imported, take_sheet
from ostiary_web.api.resources.resource import Resource
from ostiary_web.http.context import RequestRefused
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.way_back import HOME
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.routes import PageRoutes


def add_import(routes: PageRoutes, resource: Resource[Any, Any], place: str) -> None:
    """The form for a sheet, and what became of the one that was sent."""
    gate = require_permission(resource.permissions.create)

    @routes.get(f"{place}/import", gate=gate)
    async def show_import(page: PageContext) -> Response:
        return await _form(page, resource, place)

    @routes.get(f"{place}/import-template", gate=gate)
    async def show_template(page: PageContext) -> Response:
        return page.keep(await answer_template(page.request, resource, page.language))

    @routes.post(f"{place}/import", gate=gate)
    async def take_import(page: PageContext) -> Response:
        try:
            done = await take_sheet(page.request, resource)
        except RequestRefused as refusal:
            return await _form(page, resource, place, refused=refusal.reply)
        return await _form(page, resource, place, done=done)


async def _form(
    page: PageContext,
    resource: Resource[Any, Any],
    place: str,
    *,
    refused: Refused | None = None,
    done: Imported | None = None,
) -> Response:
    faults = () if refused is None else refused.faults
    return await render(
        page,
        "administration/import.html",
        place=place,
        refused=refused,
        faults=[f"{fault.path}: {field_text(fault, page.language)}" for fault in faults],
        heading=page.text(
            "page.of", action=page.text("page.import"), name=resource.list_view.title(page.language)
        ),
        back=place if page.may(resource.permissions.list) else HOME,
        template_address=f"{place}/import-template",
        done=done,
    )
