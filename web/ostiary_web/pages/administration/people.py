"""The pages of people: accounts, their roles and applications, and what an administrator can do with them."""

from collections.abc import Sequence
from typing import Any, Final

from quart import Response

from ostiary_core.events import ConsentWithdrawnByAdministrator, Event, UserForcedOut, UserRequested
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Role, User
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import ROLES, Listing, ListingStore
from ostiary_web.api.grants import grants_of
from ostiary_web.api.resources.users import RESOURCE, password_reset
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.actions import RecordAction, action_event, deletion, switching
from ostiary_web.pages.administration.records import Form, Pages, page_of_record, pages_of
from ostiary_web.pages.administration.running import running_of
from ostiary_web.pages.administration.tables import Table
from ostiary_web.pages.administration.way_back import with_done_notice
from ostiary_web.pages.applications import find_grant, shown_grant
from ostiary_web.pages.context import PageContext, render
from ostiary_web.pages.moments import zone_names

_PLACE: Final = "/admin/people"
_ROLES_AT_A_TIME: Final = 200


def _fields_of(form: Form, new: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        name: form.get(name, "").strip() or None for name in ("phone", "locale", "timezone")
    }
    fields |= {name: form.get(name, "").strip() for name in ("username", "name")}
    fields["roleIds"] = form.getlist("roleIds")
    if new:
        fields["password"] = form.get("password", "")
    return fields


def _values_of(user: User) -> dict[str, Any]:
    return {
        "username": user.username,
        "name": user.name,
        "phone": user.phone,
        "locale": user.locale,
        "timezone": user.timezone,
        "roleIds": list(user.role_ids),
    }


async def _more(page: PageContext, user: User | None) -> dict[str, Any]:
    roles = await page.request.look(_all_roles)
    grants = [] if user is None else await grants_of(page.request, user.user_id)
    return {
        "reads_trail": page.may(Permission.AUDIT_READ),
        "applications": [shown_grant(page, grant) for grant in grants],
        "roles": [(role.role_id, role.name) for role in roles],
        "zones": zone_names(),
        "names": {role.role_id: role.name for role in roles},
    }


def _all_roles(store: ListingStore, now: Instant) -> Sequence[Role]:
    """Every role there is: one that the form did not offer would be taken away by saving it."""
    listing, found = Listing(resource=ROLES, page_size=_ROLES_AT_A_TIME), list[Role]()
    while items := store.items_after(listing, found[-1] if found else None, now):
        found += items
    return found


async def _running(context: RequestContext, user_id: str) -> int:
    return await running_of(context, user_id=user_id)


async def _reset(page: PageContext, user_id: str) -> Event:
    return await password_reset(page.request, user_id, {"password": page.form.get("password", "")})


_TABLE: Final = Table(
    list_view=RESOURCE.list_view,
    place=_PLACE,
    heading="page.people",
    columns=("username", "name", "phone", "roleIds", "enabled", "createdAt"),
    filters=("id", "enabled", "createdAt"),
    people="id",
    is_exported=True,
    link=lambda user: f"{_PLACE}/{user.user_id}",
)

_ENABLE, _DISABLE = switching(RESOURCE, "page.person_disable_will")

_PAGES: Final = Pages(
    resource=RESOURCE,
    table=_TABLE,
    new="page.person_new",
    item_template="administration/person.html",
    form_template="administration/person_form.html",
    fields_of=_fields_of,
    values_of=_values_of,
    ticked=("roleIds",),
    actions=(
        _ENABLE,
        RecordAction(
            path="reset-password",
            name="page.person_reset",
            will="page.person_reset_will",
            permission=Permission.USER_UPDATE,
            event=_reset,
            asks_password=True,
        ),
        RecordAction(
            path="force-out",
            name="page.person_force",
            will="page.person_force_will",
            permission=Permission.USER_UPDATE,
            event=action_event(lambda who, user_id: UserForcedOut(caller=who, user_id=user_id)),
        ),
        _DISABLE,
        deletion(RESOURCE, "page.person_delete_will"),
    ),
    more=_more,
    running=_running,
    is_fixed=lambda user: False,
)

people_pages = pages_of(_PAGES)


_WITHDRAWAL: Final = f"{_PLACE}/<item_id>/applications/<client_id>/withdraw"


@people_pages.get(_WITHDRAWAL, gate=require_permission(Permission.USER_UPDATE))
async def ask_to_withdraw(page: PageContext, item_id: str, client_id: str) -> Response:
    """What will happen, before it does."""
    known = await page.request.submit(UserRequested(caller=page.request.caller, user_id=item_id))
    user = RESOURCE.known(known.reply)
    if user is None:
        page.request.refuse(Why.NOT_FOUND)
    found = await find_grant(page, item_id, client_id)
    return await render(
        page,
        "administration/confirm.html",
        place=_PLACE,
        heading=page.text("page.withdraw_sure", name=found.name),
        will=page.text("page.person_withdraw_will", name=user.name, count=found.session_count),
        action_name=page.text("page.withdraw"),
        back=page_of_record(page, _PAGES, item_id),
        action=f"{_PLACE}/{item_id}/applications/{client_id}/withdraw",
    )


@people_pages.post(_WITHDRAWAL, gate=require_permission(Permission.USER_UPDATE))
async def withdraw(page: PageContext, item_id: str, client_id: str) -> Response:
    """The consent is gone, and the client's sessions of this person with it."""
    await page.request.decide(
        ConsentWithdrawnByAdministrator(caller=page.request.caller, user_id=item_id, client_id=client_id)
    )
    return page.redirect(with_done_notice(page_of_record(page, _PAGES, item_id)))
