"""The pages of roles: which permissions go together under one name."""

from typing import Any, Final

from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Role
from ostiary_web.api.resources.roles import RESOURCE, permission_text
from ostiary_web.http.context import RequestContext
from ostiary_web.pages.administration.actions import deletion
from ostiary_web.pages.administration.records import Form, Pages, pages_of
from ostiary_web.pages.administration.tables import Table
from ostiary_web.pages.context import PageContext

_PLACE: Final = "/admin/roles"


def _fields_of(form: Form, new: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "name": form.get("name", "").strip(),
        "permissions": form.getlist("permissions"),
    }
    if new:
        fields["code"] = form.get("code", "").strip()
    return fields


def _values_of(role: Role) -> dict[str, Any]:
    return {"code": role.role_id, "name": role.name, "permissions": list(role.permissions)}


async def _more(page: PageContext, role: Role | None) -> dict[str, Any]:
    words = {permission.value: permission_text(permission, page.language) for permission in Permission}
    return {"permissions": [(code, f"{text} ({code})") for code, text in words.items()], "words": words}


async def _none(context: RequestContext, role_id: str) -> int:
    return 0


_TABLE: Final = Table(
    list_view=RESOURCE.list_view,
    place=_PLACE,
    heading="page.roles",
    columns=("code", "name", "permissions"),
    is_exported=True,
    link=lambda role: f"{_PLACE}/{role.role_id}",
)

role_pages = pages_of(
    Pages(
        resource=RESOURCE,
        table=_TABLE,
        new="page.role_new",
        item_template="administration/role.html",
        form_template="administration/role_form.html",
        fields_of=_fields_of,
        values_of=_values_of,
        ticked=("permissions",),
        actions=(deletion(RESOURCE, "page.role_delete_will"),),
        more=_more,
        running=_none,
        is_fixed=lambda role: role.built_in,
    )
)
