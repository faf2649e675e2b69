"""Describe the administration: its records, and operations beside the generic convention."""

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta

from ostiary_core.clients.client_secret import KEEP_OLD_FOR, OVERLAP_SECONDS
from ostiary_core.model.client import CLIENT
from ostiary_core.model.records import GrantType
from ostiary_core.model.role import ROLE
from ostiary_core.model.user import USER
from ostiary_core.model.why import Why
from ostiary_core.users.acknowledgement import LONGEST_WARNING, WARNING_KINDS, WARNING_PATTERN
from ostiary_web.api.resources.clients import ClientSecret
from ostiary_web.api_document.lists import narrowing_parameters, page_parameters, time_parameters
from ostiary_web.api_document.members import members_of_change, members_of_new
from ostiary_web.api_document.operations import Body, DescribedOperation
from ostiary_web.api_document.resources import SHEET, ZONE, convention
from ostiary_web.api_document.schemas import (
    NEW_PASSWORD,
    Json,
    as_sent,
    list_of,
    optional,
    page_of,
    record_type,
    set_of,
    text,
)
from ostiary_web.application.invitations import NewInvitation, NewInvitationOfUser
from ostiary_web.application.resources import clients, roles, users
from ostiary_web.application.resources.audit import AUDIT_EVENTS
from ostiary_web.application.resources.online import RUNNING_SESSIONS
from ostiary_web.application.resources.records import MOST_AT_ONCE

# --- clients

_OVERLAP: Final = as_sent(
    {
        "type": "integer",
        "anyOf": [{"const": 0}, {"minimum": OVERLAP_SECONDS.least, "maximum": OVERLAP_SECONDS.most}],
        "default": 0,
    }
)


def _some_or(name: str, other: Json) -> Json:
    return {"anyOf": [{"properties": {name: {"minItems": 1}}, "required": [name]}, {"properties": other}]}


_GRANTS_WITHOUT_REDIRECT: Final = [grant for grant in GrantType if grant is not GrantType.AUTHORIZATION_CODE]
_NEW_CLIENT: Final = Body(
    members_of_new(CLIENT),
    rule={
        "description": "With the grant authorization_code there is at least one redirect URI.",
        "allOf": [
            _some_or("redirectUris", {"grantTypes": {"items": {"enum": _GRANTS_WITHOUT_REDIRECT}}}),
            _some_or("scopes", {"autoApproveScopes": {"maxItems": 0}}),
        ],
    },
)
_CLIENT: Final = record_type("Client", clients.RESOURCE.list_view)
_CLIENT_PATH: Final = f"{clients.RESOURCE.path}/{{client_id}}"
_ONLINE_SESSION: Final = record_type("OnlineSession", RUNNING_SESSIONS)

CLIENTS: Final[Mapping[str, DescribedOperation]] = {
    **convention(
        clients.RESOURCE,
        _CLIENT,
        new=_NEW_CLIENT,
        change=Body(members_of_change(CLIENT, _CLIENT)),
        made=record_type("ClientWithSecret", clients.RESOURCE.list_view, secret=ClientSecret),
    ),
    f"POST {_CLIENT_PATH}/secret": DescribedOperation(
        "resetClientSecret",
        body=Body({KEEP_OLD_FOR: optional(_OVERLAP)}, is_required=False),
        refusals=(Why.BUILT_IN_PROTECTED,),
    ),
    f"DELETE {_CLIENT_PATH}/old-secret": DescribedOperation(
        "endOldClientSecret",
        data=_CLIENT,
        refusals=(Why.BUILT_IN_PROTECTED, Why.MEDIA_TYPE_UNSUPPORTED),
    ),
    f"POST {_CLIENT_PATH}/force-logout": DescribedOperation(
        "forceClientOut",
        "End all sessions and unredeemed codes of a client, which stays enabled",
        refusals=(Why.BUILT_IN_PROTECTED, Why.MEDIA_TYPE_UNSUPPORTED),
    ),
    f"GET {_CLIENT_PATH}/sessions": DescribedOperation(
        "listClientSessions",
        parameters=tuple(page_parameters(RUNNING_SESSIONS)),
        data=page_of(_ONLINE_SESSION),
    ),
}

# --- users and roles

_USER: Final = record_type("User", users.RESOURCE.list_view)
_POWER: Final = (Why.PROOF_REQUIRED, Why.TOKEN_POWER_MISSING)
"""Refusals of what needs a proof of the caller first (READINGS 57)."""
_USER_PATH: Final = f"{users.RESOURCE.path}/{{user_id}}"

USERS: Final[Mapping[str, DescribedOperation]] = {
    **convention(
        users.RESOURCE, _USER, new=Body(members_of_new(USER)), change=Body(members_of_change(USER, _USER))
    ),
    f"POST {users.RESOURCE.path}/batch-roles": DescribedOperation(
        "changeRolesOfUsers",
        description="Their other roles stay. Nobody is given or taken roles by it themselves.",
        body=Body(
            {
                "ids": set_of(text(), least=1, most=MOST_AT_ONCE),
                "add": (set_of(text()), []),
                "remove": (set_of(text()), []),
            }
        ),
        refusals=(
            *(Why.NOT_FOUND, Why.OWN_ACCOUNT_ALONE, Why.LAST_ADMINISTRATOR, Why.CHANGED_MEANWHILE),
            *_POWER,
        ),
    ),
    f"PUT {_USER_PATH}/password": DescribedOperation(
        "resetUserPassword",
        description="Nobody does so for themselves.",
        body=Body({"password": NEW_PASSWORD}),
        refusals=(Why.OWN_ACCOUNT_ALONE, Why.PASSWORDS_BUSY, *_POWER),
    ),
    f"POST {_USER_PATH}/invitation": DescribedOperation(
        "inviteUser",
        "Invite a user to set a password, by a link that works once, for 72 hours",
        description="A newer one, and whatever ends all sessions of the user, ends it. With `send` "
        "it goes to the user's telephone if there are a number and a gateway. Nobody invites themselves.",
        body=Body({"send": optional(bool)}, is_required=False),
        data=NewInvitation,
        refusals=(Why.OWN_ACCOUNT_ALONE, *_POWER),
        status=201,
    ),
    f"POST {users.RESOURCE.path}/batch-invitation": DescribedOperation(
        "inviteUsers",
        description="With `send` an invitation goes to the user's telephone if there are a number and a "
        "gateway. Nobody invites themselves.",
        body=Body({"ids": set_of(text(), least=1, most=MOST_AT_ONCE), "send": (bool, False)}),
        data=list_of(NewInvitationOfUser, most=MOST_AT_ONCE),
        refusals=(Why.NOT_FOUND, Why.OWN_ACCOUNT_ALONE, *_POWER),
        status=201,
    ),
    f"GET {_USER_PATH}/second-factor": DescribedOperation("showSecondFactorOfUser"),
    f"DELETE {_USER_PATH}/second-factor": DescribedOperation(
        "resetSecondFactor",
        "Take the second factor away from a user who lost it; ends all that is open",
        description="Nobody does so for themselves.",
        refusals=(Why.OWN_ACCOUNT_ALONE, *_POWER, Why.MEDIA_TYPE_UNSUPPORTED),
    ),
    f"POST {_USER_PATH}/force-logout": DescribedOperation(
        "forceUserOut",
        "End all sessions and unredeemed codes of a user",
        refusals=(Why.MEDIA_TYPE_UNSUPPORTED,),
    ),
    f"GET {_USER_PATH}/failed-sign-ins": DescribedOperation("showFailedSignIns"),
    f"POST {_USER_PATH}/unlock": DescribedOperation(
        "unlockUser",
        "Forgive a user's failed sign-ins in every process, which end the waits that they cost",
        description="Nobody does so for themselves.",
        refusals=(Why.OWN_ACCOUNT_ALONE, Why.MEDIA_TYPE_UNSUPPORTED),
    ),
    f"GET {_USER_PATH}/grants": DescribedOperation("listUserGrants"),
    f"DELETE {_USER_PATH}/grants/{{client_id}}": DescribedOperation(
        "withdrawUserGrant",
        "Withdraw on a user's behalf what a client may do, and end its sessions of the user",
        refusals=(Why.MEDIA_TYPE_UNSUPPORTED,),
    ),
}

_ROLE: Final = record_type("Role", roles.RESOURCE.list_view)

ROLES: Final[Mapping[str, DescribedOperation]] = {
    **convention(
        roles.RESOURCE, _ROLE, new=Body(members_of_new(ROLE)), change=Body(members_of_change(ROLE, _ROLE))
    ),
    "GET /api/iam/permissions": DescribedOperation("listPermissions"),
}

# --- sessions and the audit trail

ONLINE_USERS: Final[Mapping[str, DescribedOperation]] = {
    "GET /api/monitor/online-users": DescribedOperation(
        "listOnlineUsers",
        description="Sessions of client credentials are listed for a super administrator only.",
        parameters=tuple(page_parameters(RUNNING_SESSIONS)),
        data=page_of(_ONLINE_SESSION),
    ),
    "DELETE /api/monitor/online-users/{session_id}": DescribedOperation(
        "forceSessionOut", "End one session", refusals=(Why.MEDIA_TYPE_UNSUPPORTED,)
    ),
    "POST /api/monitor/force-logout-all": DescribedOperation(
        "forceEverybodyOut", refusals=(Why.MEDIA_TYPE_UNSUPPORTED,)
    ),
}
_WARNING: Final = Annotated[
    str, Meta(min_length=1, max_length=LONGEST_WARNING, pattern=f"^{WARNING_PATTERN}$")
]

OVERVIEW: Final[Mapping[str, DescribedOperation]] = {
    "GET /api/monitor/overview": DescribedOperation(
        "showOverview",
        description="By the hour up to 48 hours, else by the day, in the zone of `X-Timezone` or the caller. "
        "What is of the audit trail takes the permission `audit.read` too. Counts are a minute or two late.",
        parameters=tuple(
            time_parameters(
                **{
                    "from": "At this time or later; a day before `to` where it is not given.",
                    "to": "At this time or earlier; now where it is not given. 400 days later at most.",
                }
            )
        ),
    ),
    "POST /api/monitor/overview/acknowledge": DescribedOperation(
        "acknowledgeWarning",
        description="`warning` is the identifier of a warning: its kind, one of "
        + ", ".join(f"`{kind}`" for kind in WARNING_KINDS)
        + ", and after a space what it is about.",
        body=Body({"warning": _WARNING}),
    ),
}
AUDIT: Final[Mapping[str, DescribedOperation]] = {
    "GET /api/audit/events": DescribedOperation(
        "listAuditEvents",
        parameters=tuple(page_parameters(AUDIT_EVENTS)),
        data=page_of(record_type("AuditEvent", AUDIT_EVENTS)),
    ),
    "GET /api/audit/events/export": DescribedOperation(
        "exportAuditEvents",
        parameters=(*narrowing_parameters(AUDIT_EVENTS), ZONE),
        replies=SHEET,
    ),
    "GET /api/audit/sessions/{session_id}/explain": DescribedOperation("explainSession"),
}
