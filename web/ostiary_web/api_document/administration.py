"""The backend's resources described: their records, and the actions beside the convention."""

from typing import Final

from ostiary_core.clients.client_fields import ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS, Range
from ostiary_core.clients.client_secret import KEEP_OLD_FOR, OVERLAP_SECONDS
from ostiary_core.model.permissions import Permission
from ostiary_core.model.records import GrantType
from ostiary_core.model.why import Why
from ostiary_core.oauth.scopes import SCOPES
from ostiary_core.users.user_fields import LOCALES
from ostiary_web.api_document.lists import item_schema, page_of, page_parameters
from ostiary_web.api_document.parts import (
    JSON_REFUSALS,
    Json,
    array_of,
    enumeration,
    json_body,
    nullable,
    object_of,
    operation,
    path_parameter,
    ref,
    refusals,
    success,
)
from ostiary_web.api_document.resources import ADMINISTRATION, resource_paths
from ostiary_web.resources import clients, roles, users
from ostiary_web.resources.running import RUNNING

__all__ = ["paths", "schemas"]

_NULL: Final[Json] = {"type": "null"}
_TIME: Final[Json] = {"type": "string", "format": "date-time"}
_SECRET: Final[Json] = {"type": "string", "pattern": "^[A-Za-z0-9]{43,}$"}
_OVERLAP: Final[Json] = {
    "type": "integer",
    "anyOf": [{"const": 0}, {"minimum": OVERLAP_SECONDS.least, "maximum": OVERLAP_SECONDS.most}],
    "default": 0,
}
_PRINTABLE: Final = "[^\\u0000-\\u001f\\u007f-\\u00a0]"
_NAME: Final[Json] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 100,
    "pattern": f"^{_PRINTABLE}*[^\\u0000-\\u0020\\u007f-\\u00a0]{_PRINTABLE}*$",
}
"""Printable and not blank."""
_PORT: Final = (
    "(?::(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
)
_REDIRECT_URI: Final[Json] = {
    "type": "string",
    "maxLength": 2_000,
    "pattern": f"^(?:https://[A-Za-z0-9.-]+{_PORT}|http://(?:localhost|127\\.0\\.0\\.1){_PORT})"
    '(?:[/?][!"$-)+-\\[\\]-~]*)?$',
}
"""No white space, `#`, `*` or backslash, no user name or password; ASCII."""


def schemas() -> dict[str, Json]:
    """The records, and what is sent to make and to change them."""
    return {**_client_schemas(), **_user_schemas(), **_role_schemas()}


def paths() -> dict[str, dict[str, Json]]:
    """The operations, by path and method."""
    made = {"allOf": [ref("ClientWithSecret")]}
    return {
        **resource_paths(clients.DECLARED, "Client", made=made),
        **_client_actions(),
        **resource_paths(users.DECLARED, "User"),
        **_user_actions(),
        **resource_paths(roles.DECLARED, "Role"),
        **_permissions(),
    }


# --- clients


def _seconds(allowed: Range) -> Json:
    return {
        "type": "integer",
        "minimum": allowed.least,
        "maximum": allowed.most,
        "default": allowed.default,
    }


_NO_CODES: Final[Json] = {
    "properties": {
        "grantTypes": {
            "items": {"enum": [each.value for each in GrantType if each is not GrantType.AUTHORIZATION_CODE]}
        }
    }
}
_NOTHING_AUTOMATIC: Final[Json] = {"properties": {"autoApproveScopes": {"maxItems": 0}}}


def _some(name: str) -> Json:
    return {"properties": {name: {"minItems": 1}}, "required": [name]}


def _either(*schemas: Json) -> Json:
    return {"anyOf": list(schemas)}


def _client_fields() -> dict[str, Json]:
    scopes = enumeration(SCOPES)
    return {
        "name": _NAME,
        "redirectUris": array_of(_REDIRECT_URI, maxItems=50, uniqueItems=True),
        "grantTypes": array_of(enumeration(each.value for each in GrantType), minItems=1, uniqueItems=True),
        "scopes": array_of(scopes, uniqueItems=True),
        "autoApproveScopes": array_of(scopes, uniqueItems=True, description="Some of `scopes`."),
        "accessTokenTtl": _seconds(ACCESS_TOKEN_SECONDS),
        "refreshTokenTtl": _seconds(REFRESH_TOKEN_SECONDS),
    }


def _client_schemas() -> dict[str, Json]:
    shown = item_schema(clients.DECLARED.fields)
    fields = _client_fields()
    client_id = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"}
    new = {"clientId": client_id, **fields, "enabled": {"type": "boolean", "default": True}}
    return {
        "Client": shown,
        "ClientWithSecret": object_of(
            {**shown["properties"], "secret": {**_SECRET, "description": "Shown this once."}}
        ),
        "NewClient": {
            **object_of(
                new, optional=[name for name in new if name not in ("clientId", "name", "grantTypes")]
            ),
            "description": "With the grant authorization_code there is at least one redirect address.",
            "allOf": [
                _either(_some("redirectUris"), _NO_CODES),
                _either(_some("scopes"), _NOTHING_AUTOMATIC),
            ],
        },
        "ClientChange": object_of(fields, optional=fields, description="What is not sent stays."),
    }


def _client_actions() -> dict[str, dict[str, Json]]:
    path, tag = f"{clients.DECLARED.path}/{{client_id}}", clients.DECLARED.title.en
    parameters = [path_parameter("client_id", "The client.")]
    changing = (*ADMINISTRATION, Why.NOT_FOUND, Why.BUILT_IN_PROTECTED)
    return {
        f"{path}/enabled": {
            "put": operation(
                "enableClient",
                "Enable a client, or disable it and end all its sessions",
                tag=tag,
                parameters=parameters,
                body=json_body(object_of({"enabled": {"type": "boolean"}})),
                responses={**success(ref("Client")), **refusals(*changing, *JSON_REFUSALS)},
            )
        },
        f"{path}/secret": {
            "post": operation(
                "resetClientSecret",
                "Another secret, shown this once; the old one ends now, or when it is said",
                tag=tag,
                parameters=parameters,
                body=json_body(object_of({KEEP_OLD_FOR: _OVERLAP}, optional=(KEEP_OLD_FOR,)), required=False),
                responses={
                    **success(object_of({"secret": _SECRET})),
                    **refusals(*changing, *JSON_REFUSALS),
                },
            )
        },
        f"{path}/old-secret": {
            "delete": operation(
                "endOldClientSecret",
                "The old secret that was to work on stops working now",
                tag=tag,
                parameters=parameters,
                responses={**success(ref("Client")), **refusals(*changing, Why.MEDIA_TYPE_UNSUPPORTED)},
            )
        },
        f"{path}/sessions": {
            "get": operation(
                "listClientSessions",
                "The running sessions of a client",
                tag=tag,
                parameters=[*parameters, *page_parameters(RUNNING)],
                responses={
                    **success(page_of(ref("OnlineSession"))),
                    **refusals(*ADMINISTRATION, Why.NOT_FOUND, Why.FIELDS_INVALID),
                },
            )
        },
    }


# --- people and roles


def _user_fields() -> dict[str, Json]:
    return {
        "username": {
            "type": "string",
            "minLength": 1,
            "maxLength": 64,
            "pattern": "^[^\\s\\u0000-\\u0020\\u007f-\\u00a0<>\"'\\\\/:]+$",
        },
        "name": _NAME,
        "phone": {"type": ["string", "null"], "pattern": "^(?:\\+?[0-9]{5,20})?$"},
        "mustChangePassword": {"type": "boolean"},
        "roleIds": array_of({"type": "string"}, maxItems=100, uniqueItems=True),
        "locale": nullable(enumeration((*LOCALES, ""))),
        "timezone": {"anyOf": [ref("TimeZone"), {"type": "null"}, {"const": ""}]},
    }


def _user_schemas() -> dict[str, Json]:
    fields = _user_fields()
    new = {**fields, "password": ref("Password"), "enabled": {"type": "boolean", "default": True}}
    return {
        "User": item_schema(users.DECLARED.fields),
        "NewUser": object_of(
            new, optional=[name for name in new if name not in ("username", "name", "password")]
        ),
        "UserChange": object_of(fields, optional=fields, description="What is not sent stays."),
    }


def _user_actions() -> dict[str, dict[str, Json]]:
    path, tag = f"{users.DECLARED.path}/{{user_id}}", users.DECLARED.title.en
    parameters = [path_parameter("user_id", "The user.")]
    changing = (*ADMINISTRATION, Why.NOT_FOUND)
    return {
        f"{path}/enabled": {
            "put": operation(
                "enableUser",
                "Enable an account, or disable it and end all that is open",
                tag=tag,
                parameters=parameters,
                body=json_body(object_of({"enabled": {"type": "boolean"}})),
                responses={
                    **success(ref("User")),
                    **refusals(*changing, *JSON_REFUSALS, Why.LAST_ADMINISTRATOR),
                },
            )
        },
        f"{path}/password": {
            "put": operation(
                "resetUserPassword",
                "Another password, to be changed at the next sign-in; ends all that is open",
                tag=tag,
                parameters=parameters,
                body=json_body(object_of({"password": ref("Password")})),
                responses={**success(_NULL), **refusals(*changing, *JSON_REFUSALS)},
            )
        },
        f"{path}/force-logout": {
            "post": operation(
                "forceUserOut",
                "End all sessions and unredeemed codes of a user",
                tag=tag,
                parameters=parameters,
                responses={**success(_NULL), **refusals(*changing, Why.MEDIA_TYPE_UNSUPPORTED)},
            )
        },
    }


def _role_schemas() -> dict[str, Json]:
    permissions = array_of(enumeration(each.value for each in Permission), uniqueItems=True)
    code = {"type": "string", "pattern": "^[a-z][a-z0-9._-]{0,63}$"}
    return {
        "Role": item_schema(roles.DECLARED.fields),
        "NewRole": object_of(
            {"code": code, "name": _NAME, "permissions": permissions}, optional=("permissions",)
        ),
        "RoleChange": object_of(
            {"name": _NAME, "permissions": permissions},
            optional=("name", "permissions"),
            description="What is not sent stays.",
        ),
    }


def _permissions() -> dict[str, dict[str, Json]]:
    in_words = object_of({"en-US": {"type": "string"}, "zh-CN": {"type": "string"}})
    one = object_of({"code": enumeration(each.value for each in Permission), "description": in_words})
    return {
        "/api/iam/permissions": {
            "get": operation(
                "listPermissions",
                "What a role can allow",
                tag=roles.DECLARED.title.en,
                responses={**success(array_of(one)), **refusals(*ADMINISTRATION)},
            )
        }
    }
