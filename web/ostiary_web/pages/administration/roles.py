"""Pages of roles, which are named sets of permissions."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup

from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Role, User
from ostiary_core.storage.listing import USERS, Listing
from ostiary_web.application.resources.roles import RESOURCE, describe_permission
from ostiary_web.pages.administration.actions import deletion_action
from ostiary_web.pages.administration.asked_list import ListPage
from ostiary_web.pages.administration.records import RecordPages, make_record_pages
from ostiary_web.pages.context import PageContext

_PLACE: Final = "/admin/roles"
_HOLDERS_SHOWN: Final = 20


async def _extra_context(page: PageContext, role: Role | None) -> dict[str, Any]:
    words = {permission.value: describe_permission(permission, page.language) for permission in Permission}
    options = [(code, f"{text} ({code})") for code, text in words.items()]
    holders = () if role is None else await _list_holders(page, role)
    return {
        "options": {"permissions": options},
        "words": words,
        "holders": holders,
        "may_list": page.may(Permission.USER_LIST),
        "may_change": page.may(Permission.USER_UPDATE),
    }


async def _list_holders(page: PageContext, role: Role) -> Sequence[User]:
    """Return the first holders of a role, if the visitor may see users."""
    if not page.may(Permission.USER_LIST):
        return ()
    listing = Listing(resource=USERS, filters={"role_ids": role.role_id}, page_size=_HOLDERS_SHOWN)
    return await page.request.query(lambda store, now: store.items_after(listing, None, now))


def _warn_of_holders(page: PageContext, role: Role) -> Sequence[str]:
    """Say how many users hold a role that is to be deleted, with the way to them."""
    if not role.holders:
        return ()
    text = page.text("page.role_still_held", count=role.holders)
    if not page.may(Permission.USER_LIST):
        return [text]
    address = f"/admin/people?{urlencode({'roleIds': role.role_id})}"
    return [Markup('<a href="{}">{}</a>').format(address, text)]


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
        actions=(deletion_action(RESOURCE, "page.role_delete_will", _warn_of_holders),),
        extra_context=_extra_context,
        has_sessions=False,
        in_title=frozenset({"id", "code", "name", "permissions", "builtIn"}),
    )
)
