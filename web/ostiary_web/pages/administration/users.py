"""Pages of users: their roles and applications, and an administrator's actions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from quart import Response

from ostiary_core.events import (
    ConsentWithdrawnByAdministrator,
    Event,
    SecondFactorReset,
    UserForcedOut,
    UserRequested,
    UserUnlocked,
)
from ostiary_core.model.instant import NOT_YET, Instant, iso_time
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import Role, User, is_of_client
from ostiary_core.model.why import Why
from ostiary_core.storage.listing import ONLINE_USERS, ROLES, Listing, ListingStore, OnlineSession
from ostiary_web.application.failed_sign_ins import count_failures
from ostiary_web.application.grants import list_grants_of_user
from ostiary_web.application.invitations import has_gateway
from ostiary_web.application.resources.users import (
    RESOURCE,
    make_password_reset,
    make_role_change,
    request_user,
)
from ostiary_web.http.context import RequestContext
from ostiary_web.http.gate import require_permission
from ostiary_web.pages.administration.actions import (
    RecordAction,
    deletion_action,
    enabling_actions,
)
from ostiary_web.pages.administration.asked_list import ListPage
from ostiary_web.pages.administration.invitations import add_invitations, make_event, show_invitation
from ostiary_web.pages.administration.records import RecordPages, make_record_pages, page_of_record
from ostiary_web.pages.administration.selection import Choices, SelectionAction
from ostiary_web.pages.applications import describe_grant, find_grant
from ostiary_web.pages.context import PageContext, render_question
from ostiary_web.pages.moments import zone_groups

_PLACE: Final = "/admin/people"
_ROLES_PER_READ: Final = 200
_SESSIONS_SHOWN: Final = 10
_GIVE: Final = "give"
_TAKE: Final = "take"


async def _extra_context(page: PageContext, user: User | None) -> dict[str, Any]:
    roles = await _list_role_choices(page.request)
    known = None if user is None else await request_user(page.request, user.user_id)
    grants = [] if user is None else await list_grants_of_user(page.request, user.user_id)
    return {
        "may_read_trail": page.may(Permission.AUDIT_READ),
        "applications": [describe_grant(page, grant) for grant in grants],
        "client_names": {grant.client_id: grant.name for grant in grants},
        "codes_left": None if known is None else known.recovery_codes_left,
        "invited_until": None if known is None else known.invited_until,
        "counted_since": page.request.services.started_at,
        "failed": None if user is None else await count_failures(page.request, user.user_id),
        "sessions": () if user is None else await _list_newest_sessions(page, user.user_id),
        "is_of_client": is_of_client,
        "may_end_sessions": page.may(Permission.ONLINE_KILL),
        "hints": {
            "password": page.text("page.user_initial_password_hint"),
            "phone": "" if user is None else page.text("page.user_phone_ends"),
        },
        "options": {
            "roleIds": roles,
            "locale": [
                ("", page.text("page.chosen_language_none")),
                *((language.tag, language.name) for language in page.request.languages),
            ],
            "timezone": [("", "Asia/Shanghai"), *zone_groups(None if user is None else user.timezone)],
        },
    }


async def _list_role_choices(context: RequestContext) -> Sequence[tuple[str, str]]:
    """Return every role with its name."""
    return [(role.role_id, role.name) for role in await context.query(_all_roles)]


async def _name_roles(context: RequestContext, users: Sequence[User]) -> Mapping[str, str]:
    """Return the names of the roles of these users."""
    return dict(await _list_role_choices(context)) if any(user.role_ids for user in users) else {}


def _all_roles(store: ListingStore, now: Instant) -> Sequence[Role]:
    """Return every role: saving the form would take away a role that it did not offer."""
    listing, found = Listing(resource=ROLES, page_size=_ROLES_PER_READ), list[Role]()
    while items := store.items_after(listing, found[-1] if found else None, now):
        found += items
    return found


async def _list_newest_sessions(page: PageContext, user_id: str) -> Sequence[OnlineSession]:
    """Return the user's newest running sessions, if the visitor may see any."""
    if not page.may(Permission.ONLINE_LIST):
        return ()
    listing = Listing(resource=ONLINE_USERS, filters={"user_id": user_id}, page_size=_SESSIONS_SHOWN)
    return await page.request.query(lambda store, now: store.items_after(listing, None, now))


def _is_visitor(page: PageContext, user_id: str) -> bool:
    """Whether this is the visitor, whose password and number change under their own account (READINGS 56)."""
    return page.request.user.user_id == user_id


async def _reset(page: PageContext, user_id: str) -> Event:
    return await make_password_reset(page.request, user_id, {"password": page.form.get("password", "")})


_LIST: Final = ListPage(
    list_view=RESOURCE.list_view,
    place=_PLACE,
    heading="page.users",
    columns=("username", "name", "phone", "roleIds", "enabled", "lastSignInAt", "createdAt"),
    filters=(
        *("roleIds", "enabled", "secondFactor", "neverSignedIn", "mustChangePassword"),
        *("id", "lastSignInAt", "createdAt"),
    ),
    conditions={"neverSignedIn": ("page.never_signed_in", {"lastSignInAtTo": iso_time(NOT_YET)})},
    choices={"roleIds": _list_role_choices},
    names=_name_roles,
    user_filter="id",
    is_exported=True,
    link=lambda user: f"{_PLACE}/{user.user_id}",
)


async def _role_choices(page: PageContext) -> Sequence[Choices]:
    roles = await _list_role_choices(page.request)
    headings = {_GIVE: "page.roles_give", _TAKE: "page.roles_take"}
    return [Choices(name, page.text(heading), roles) for name, heading in headings.items()]


def _change_roles(page: PageContext, user_id: str, user: User | None) -> Event | None:
    if user is None:
        # The rules say what is to be said of one that is gone.
        return UserRequested(caller=page.request.caller, user_id=user_id)
    return make_role_change(page.request, user, page.form.getlist(_GIVE), page.form.getlist(_TAKE))


_ROLES: Final[SelectionAction[User]] = SelectionAction(
    address="/admin/selected/users/roles",
    name="page.roles_change",
    question="page.roles_change_will",
    done="page.roles_changed",
    permission=Permission.USER_UPDATE,
    make_event=_change_roles,
    warns_of_oneself=False,
    choices=_role_choices,
    gives_power=lambda page: bool(page.form.get(_GIVE)),
    is_for_others=True,
)

_ENABLE, _DISABLE = enabling_actions(RESOURCE, "page.user_disable_will")

_PAGES: Final[RecordPages[User, User]] = RecordPages(
    resource=RESOURCE,
    list_page=_LIST,
    new="page.user_new",
    item_template="administration/user.html",
    actions=(
        _ENABLE,
        RecordAction(
            "reset-password",
            "page.user_reset",
            "page.user_reset_will",
            _reset,
            done_text="page.user_reset_done",
            asks_password=True,
            needs_proof=True,
            is_available=lambda user, page: not _is_visitor(page, user.user_id),
        ),
        RecordAction(
            "invite",
            "page.user_invite",
            "page.user_invite_will",
            make_event,
            done_text="page.user_invite",
            offers_text_message=lambda user, page: user.phone is not None and has_gateway(page.request),
            show_outcome=show_invitation,
            takes_away=False,
            needs_proof=True,
            is_available=lambda user, page: user.enabled and not _is_visitor(page, user.user_id),
        ),
        RecordAction(
            "reset-second-factor",
            "page.user_second_factor_reset",
            "page.user_second_factor_reset_will",
            SecondFactorReset,
            done_text="page.user_second_factor_reset_done",
            needs_proof=True,
            is_available=lambda user, page: user.has_second_factor and not _is_visitor(page, user.user_id),
        ),
        RecordAction(
            "unlock",
            "page.user_unlock",
            None,
            UserUnlocked,
            done_text="page.user_unlock_done",
            is_available=lambda user, page: not _is_visitor(page, user.user_id),
        ),
        RecordAction(
            "force-out", "page.user_force", "page.user_force_will", UserForcedOut, done_text="page.force_done"
        ),
        _DISABLE,
        deletion_action(RESOURCE, "page.user_delete_will"),
    ),
    selection=(_ROLES,),
    extra_context=_extra_context,
    not_offered=lambda page, user_id: ("phone",) if _is_visitor(page, user_id) else (),
    in_title=frozenset({"username", "name", "enabled", "avatarUrl", "updatedAt"}),
)

user_pages = make_record_pages(_PAGES)
add_invitations(user_pages)


_WITHDRAWAL: Final = f"{_PLACE}/<item_id>/applications/<client_id>/withdraw"


@user_pages.get(_WITHDRAWAL, gate=require_permission(Permission.USER_UPDATE))
async def ask_to_withdraw(page: PageContext, item_id: str, client_id: str) -> Response:
    """Ask before a consent is withdrawn."""
    known = await page.request.submit(UserRequested(caller=page.request.caller, user_id=item_id))
    user = RESOURCE.item_in_reply(known.reply)
    if user is None:
        page.request.refuse(Why.NOT_FOUND)
    found = await find_grant(page, item_id, client_id)
    return await render_question(
        page,
        place=_PLACE,
        heading=page.text("page.withdraw_sure", name=found.name),
        confirm_text=page.text("page.user_withdraw_will", name=user.name, count=found.session_count),
        action_name=page.text("page.withdraw"),
        back=page_of_record(page, _PAGES, item_id),
    )


@user_pages.post(_WITHDRAWAL, gate=require_permission(Permission.USER_UPDATE))
async def withdraw(page: PageContext, item_id: str, client_id: str) -> Response:
    """Withdraw a user's consent, which ends the client's sessions of that user."""
    await page.request.decide(
        ConsentWithdrawnByAdministrator(caller=page.request.caller, user_id=item_id, client_id=client_id)
    )
    return page.redirect(page_of_record(page, _PAGES, item_id), page.text("page.done"))
