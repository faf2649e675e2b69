"""`/api/auth/*` and `/files/*` described: signing in, and what people do with their own account."""

from typing import Final
from zoneinfo import available_timezones

from ostiary_core.model.permissions import Permission
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.model.records import TextCodePurpose
from ostiary_core.model.secret import TOKEN_LENGTH
from ostiary_core.model.why import Why
from ostiary_core.users.user_fields import LOCALES, LONGEST_PASSWORD
from ostiary_web.api_document.parts import (
    ANYBODY,
    JSON_REFUSALS,
    SIGNED_IN_REFUSALS,
    Json,
    array_of,
    enumeration,
    json_body,
    members,
    nullable,
    object_of,
    operation,
    path_parameter,
    ref,
    refusals,
    success,
    text,
)
from ostiary_web.auth import LONGEST_USERNAME
from ostiary_web.pictures import MEDIA_TYPES

__all__ = ["paths", "schemas"]

_TAG: Final = "Own account"
_NULL: Final[Json] = {"type": "null"}
_TOKEN: Final[Json] = {"type": "string", "pattern": f"^[A-Za-z0-9_-]{{{TOKEN_LENGTH}}}$"}
_PHONE: Final[Json] = {"type": "string", "pattern": "^\\+?[0-9]{5,20}$"}
_CODE: Final[Json] = text(1, 64)
_CURRENT_PASSWORD: Final[Json] = text(1, LONGEST_PASSWORD, format="password")
_TIME: Final[Json] = {"type": "string", "format": "date-time"}
_OWN: Final = (*SIGNED_IN_REFUSALS, Why.PASSWORD_MUST_CHANGE)


def schemas() -> dict[str, Json]:
    """What the operations answer."""
    return {
        "Password": text(SPECIFICATION.minimum_password_length, LONGEST_PASSWORD, format="password"),
        "TimeZone": enumeration(sorted(available_timezones())),
        "Login": object_of(
            {
                "accessToken": _TOKEN,
                "refreshToken": _TOKEN,
                "expiresIn": {"type": "integer", "minimum": 0},
                "mustChangePassword": {"type": "boolean"},
            }
        ),
        "Account": object_of(
            {
                "id": {"type": "string"},
                "username": {"type": "string"},
                "name": {"type": "string"},
                "phone": nullable(_PHONE),
                "avatarUrl": nullable({"type": "string"}),
                "locale": nullable(enumeration(LOCALES)),
                "timezone": nullable({"type": "string"}),
                "roles": array_of({"type": "string"}),
                "permissions": array_of(enumeration(each.value for each in Permission)),
                "mustChangePassword": {"type": "boolean"},
            }
        ),
        "Grant": object_of(
            {
                "clientId": {"type": "string"},
                "name": {"type": "string"},
                "scopes": array_of({"type": "string"}),
                "grantedAt": nullable(_TIME),
                "sessions": array_of(
                    object_of(
                        {
                            "id": {"type": "string"},
                            "scope": {"type": "string"},
                            "signedInAt": _TIME,
                            "lastSeenAt": _TIME,
                            "expiresAt": _TIME,
                            "ip": {"type": "string"},
                            "userAgent": nullable({"type": "string"}),
                        }
                    )
                ),
            }
        ),
    }


def paths() -> dict[str, dict[str, Json]]:
    """The operations, by path and method."""
    return {**_signing_in(), **_account(), **_recovery(), **_pictures(), **_grants()}


def _signing_in() -> dict[str, dict[str, Json]]:
    return {
        "/api/auth/login": {
            "post": operation(
                "signIn",
                "Sign in",
                tag=_TAG,
                security=ANYBODY,
                body=json_body(
                    members(
                        {
                            "username": text(1, LONGEST_USERNAME),
                            "password": text(1, LONGEST_PASSWORD, format="password"),
                        }
                    )
                ),
                responses={
                    **success(ref("Login"), "The pair of a new login session, in cookies as well."),
                    **refusals(
                        *JSON_REFUSALS,
                        Why.SIGN_IN_WRONG,
                        Why.SIGN_INS_TOO_FREQUENT,
                        Why.TOO_MANY_REQUESTS,
                    ),
                },
            )
        },
        "/api/auth/refresh": {
            "post": operation(
                "renewLogin",
                "The next pair of a login session",
                tag=_TAG,
                security=ANYBODY,
                body=json_body(members({"refreshToken": text(1, 1_024)})),
                responses={
                    **success(ref("Login"), "The next pair, in cookies as well."),
                    **refusals(*JSON_REFUSALS, *SIGNED_IN_REFUSALS),
                },
            )
        },
        "/api/auth/logout": {
            "post": operation(
                "signOut",
                "End this login session",
                tag=_TAG,
                responses={**success(_NULL), **refusals(*SIGNED_IN_REFUSALS)},
            )
        },
        "/api/auth/me": {
            "get": operation(
                "showOwnAccount",
                "Who is signed in, and what they may do",
                tag=_TAG,
                responses={**success(ref("Account"), "The account."), **refusals(Why.NOT_SIGNED_IN)},
            )
        },
    }


def _account() -> dict[str, dict[str, Json]]:
    return {
        "/api/auth/password": {
            "put": operation(
                "changePassword",
                "Choose another password; ends every other session",
                tag=_TAG,
                body=json_body(
                    members(
                        {
                            "oldPassword": _CURRENT_PASSWORD,
                            "newPassword": ref("Password"),
                        }
                    )
                ),
                responses={
                    **success(_NULL),
                    **refusals(
                        *JSON_REFUSALS,
                        *SIGNED_IN_REFUSALS,
                        Why.CURRENT_PASSWORD_WRONG,
                        Why.CURRENT_PASSWORD_WRONG_REPEATEDLY,
                        Why.CREDENTIAL_MOVED_ON,
                    ),
                },
            )
        },
        "/api/auth/phone": {
            "put": operation(
                "changePhone",
                "Take another telephone number; ends every other session",
                tag=_TAG,
                body=json_body(members({"phone": _PHONE, "code": _CODE, "password": _CURRENT_PASSWORD})),
                responses={
                    **success(_NULL),
                    **refusals(
                        *JSON_REFUSALS,
                        *_OWN,
                        Why.CURRENT_PASSWORD_WRONG,
                        Why.CURRENT_PASSWORD_WRONG_REPEATEDLY,
                        Why.CREDENTIAL_MOVED_ON,
                        Why.TEXT_CODE_WRONG,
                        Why.ALREADY_TAKEN,
                    ),
                },
            )
        },
        "/api/auth/locale": {
            "put": operation(
                "chooseLocale",
                "The language to be addressed in",
                tag=_TAG,
                body=json_body(members({"locale": enumeration(LOCALES)})),
                responses={**success(_NULL), **refusals(*JSON_REFUSALS, *_OWN)},
            )
        },
        "/api/auth/timezone": {
            "put": operation(
                "chooseTimezone",
                "The zone that times are given in",
                tag=_TAG,
                body=json_body(members({"timezone": ref("TimeZone")})),
                responses={**success(_NULL), **refusals(*JSON_REFUSALS, *_OWN)},
            )
        },
    }


def _recovery() -> dict[str, dict[str, Json]]:
    return {
        "/api/auth/sms-code": {
            "post": operation(
                "sendTextCode",
                "A code by text message, to change a number or recover a password",
                tag=_TAG,
                security=[{"login": []}, {}],
                description="The answer is the same whether the number is known or not. To change a number "
                f"an account asks at most {SPECIFICATION.text_codes_asked_a_day} times a day.",
                body=json_body(
                    members({"phone": _PHONE, "purpose": enumeration(each.value for each in TextCodePurpose)})
                ),
                responses={
                    **success(_NULL),
                    **refusals(*JSON_REFUSALS, *_OWN, Why.TOO_MANY_REQUESTS, Why.TEXT_CODES_TOO_FREQUENT),
                },
            )
        },
        "/api/auth/reset-password": {
            "post": operation(
                "recoverPassword",
                "Another password for whoever holds the telephone; ends everything",
                tag=_TAG,
                security=ANYBODY,
                body=json_body(members({"phone": _PHONE, "code": _CODE, "newPassword": ref("Password")})),
                responses={
                    **success(_NULL),
                    **refusals(*JSON_REFUSALS, Why.TEXT_CODE_WRONG, Why.TOO_MANY_REQUESTS),
                },
            )
        },
    }


def _pictures() -> dict[str, dict[str, Json]]:
    upload = members({"file": {"type": "string", "format": "binary"}})
    picture = {"type": "string", "format": "binary"}
    return {
        "/api/auth/avatar": {
            "put": operation(
                "chooseAvatar",
                "A picture: PNG, JPEG or WebP, at most 2 MiB",
                tag=_TAG,
                body={"required": True, "content": {"multipart/form-data": {"schema": upload}}},
                responses={
                    **success(object_of({"avatarUrl": {"type": "string"}}), "Where it is from now on."),
                    **refusals(*_OWN, Why.MEDIA_TYPE_UNSUPPORTED, Why.FIELDS_INVALID, Why.BODY_TOO_LARGE),
                },
            ),
            "delete": operation(
                "removeAvatar",
                "No picture any more",
                tag=_TAG,
                responses={**success(_NULL), **refusals(*_OWN)},
            ),
        },
        "/files/{name}": {
            "get": operation(
                "showFile",
                "A picture by its name",
                tag=_TAG,
                security=ANYBODY,
                parameters=[path_parameter("name", "As in `avatarUrl`.")],
                responses={
                    "200": {
                        "description": "The picture.",
                        "content": {each: {"schema": picture} for each in MEDIA_TYPES.values()},
                    },
                    "206": {"description": "The part that was asked for."},
                    "304": {"description": "Not changed."},
                    **refusals(Why.NOT_FOUND),
                },
            )
        },
    }


def _grants() -> dict[str, dict[str, Json]]:
    return {
        "/api/auth/grants": {
            "get": operation(
                "listGrants",
                "What other systems may do for the user, and their running sessions",
                tag=_TAG,
                responses={**success(array_of(ref("Grant")), "By client."), **refusals(*_OWN)},
            )
        },
        "/api/auth/grants/{client_id}": {
            "delete": operation(
                "withdrawGrant",
                "Withdraw what a client may do, and end its sessions of this user",
                tag=_TAG,
                parameters=[path_parameter("client_id", "The client.")],
                responses={**success(_NULL), **refusals(*_OWN, Why.NOT_FOUND)},
            )
        },
    }
