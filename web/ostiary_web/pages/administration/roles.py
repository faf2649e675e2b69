"""Pages of roles, which are named sets of permissions."""

from typing import Any, Final

from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Role
from ostiary_web.api.resources.roles import RESOURCE, describe_permission
from ostiary_web.pages.administration.actions import deletion_action
from ostiary_web.pages.administration.list_page import ListPage
from ostiary_web.pages.administration.records import RecordPages, make_record_pages
from ostiary_web.pages.context import PageContext

_PLACE: Final = "/admin/roles"


async def _extra_context(page: PageContext, role: Role | None) -> dict[str, Any]:
    words = {permission.value: describe_permission(permission, page.language) for permission in Permission}
    options = [(code, f"{text} ({code})") for code, text in words.items()]
    return {"options": {"permissions": options}, "words": words}


_LIST: Final = ListPage(
    list_view=RESOURCE.list_view,
    place=_PLACE,
    heading="page.roles",
    columns=("code", "name", "permissions"),
    is_exported=True,
    link=lambda role: f"{_PLACE}/{role.role_id}",
)

role_pages = make_record_pages(
    RecordPages(
        resource=RESOURCE,
        list_page=_LIST,
        new="page.role_new",
        item_template="administration/role.html",
        actions=(deletion_action(RESOURCE, "page.role_delete_will"),),
        extra_context=_extra_context,
        has_sessions=False,
        in_title=frozenset({"id", "code", "name", "permissions", "builtIn"}),
        is_fixed=lambda role: role.built_in,
    )
)
