"""Describe `/api/auth/*` and `/files/*`: sign-in, and what users do with their own account."""

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Final

from msgspec import Meta

from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.policy import SPECIFICATION
from ostiary_core.model.records import TextCodePurpose
from ostiary_core.model.why import Why
from ostiary_core.users.personal_token import LIFETIME_DAYS, LONGEST_NAME
from ostiary_web.api.auth import Login, SecondFactorNeeded
from ostiary_web.api.tokens import NewPersonalToken
from ostiary_web.api_document.operations import MULTIPART, Body, DescribedOperation, Reply
from ostiary_web.api_document.schemas import CURRENT_PASSWORD, FILE, NEW_PASSWORD, optional, set_of, text
from ostiary_web.application.answer_data import Locale, WrittenPhone, one_of
from ostiary_web.application.invitations import LONGEST_INVITATION
from ostiary_web.application.own_account import LONGEST_USERNAME
from ostiary_web.application.second_factor import LONGEST_TICKET
from ostiary_web.http.gate import SIGNED_IN
from ostiary_web.http.zones import zones
from ostiary_web.pictures.formats import MEDIA_TYPES

TimeZone = Enum("TimeZone", {zone: zone for zone in sorted(zones())})  # type: ignore[misc]

_CODE: Final = text(1, 64)
_PASSWORD_REFUSALS: Final = (
    Why.CURRENT_PASSWORD_WRONG,
    Why.CURRENT_PASSWORD_WRONG_REPEATEDLY,
    Why.PASSWORD_CHANGED_MEANWHILE,
    Why.PASSWORDS_BUSY,
)

_CODE_REFUSALS: Final = (Why.SECOND_FACTOR_WRONG, Why.SIGN_INS_TOO_FREQUENT, Why.NOT_FOUND)

OPERATIONS: Final[Mapping[str, DescribedOperation]] = {
    "POST /api/auth/login": DescribedOperation(
        "signIn",
        body=Body({"username": text(1, LONGEST_USERNAME), "password": CURRENT_PASSWORD}),
        data=(Login, SecondFactorNeeded),
        refusals=(Why.SIGN_IN_WRONG, Why.SIGN_INS_TOO_FREQUENT, Why.PASSWORDS_BUSY),
    ),
    "POST /api/auth/login/second-factor": DescribedOperation(
        "finishSignIn",
        description="A code of six digits works once; so does a recovery code. Wrong ones are slowed down as "
        "wrong passwords are, and after "
        f"{SPECIFICATION.wrong_codes_until_wait} of them within 15 minutes the user waits.",
        body=Body({"ticket": text(1, LONGEST_TICKET), "code": _CODE}),
        data=Login,
        refusals=(Why.SIGN_IN_CODE_WRONG, Why.SIGN_IN_EXPIRED, Why.SIGN_INS_TOO_FREQUENT),
    ),
    "POST /api/auth/login/second-factor/set-up": DescribedOperation(
        "beginSecondFactorAtSignIn",
        description="The code that finishes the sign-in confirms it.",
        body=Body({"ticket": text(1, LONGEST_TICKET)}),
        refusals=(Why.SIGN_IN_EXPIRED, Why.SECOND_FACTOR_EXISTS),
    ),
    "GET /api/auth/second-factor": DescribedOperation("showSecondFactor", refusals=(Why.NOT_FOUND,)),
    "POST /api/auth/second-factor": DescribedOperation(
        "beginSecondFactor",
        body=Body({"password": CURRENT_PASSWORD}),
        refusals=(*_PASSWORD_REFUSALS, Why.SECOND_FACTOR_EXISTS),
    ),
    "PUT /api/auth/second-factor": DescribedOperation(
        "confirmSecondFactor",
        body=Body({"code": _CODE}),
        refusals=(*_CODE_REFUSALS, Why.SECOND_FACTOR_EXISTS),
    ),
    "DELETE /api/auth/second-factor": DescribedOperation(
        "removeSecondFactor",
        description="Who must have a second factor is signed out here too.",
        body=Body({"password": CURRENT_PASSWORD, "code": _CODE}),
        refusals=(*_PASSWORD_REFUSALS, *_CODE_REFUSALS),
    ),
    "POST /api/auth/second-factor/recovery-codes": DescribedOperation(
        "renewRecoveryCodes",
        body=Body({"password": CURRENT_PASSWORD, "code": _CODE}),
        refusals=(*_PASSWORD_REFUSALS, *_CODE_REFUSALS),
    ),
    "POST /api/auth/refresh": DescribedOperation(
        "renewLogin",
        description="A browser may leave it to its cookie, and proves its origin by `X-Form-Token`.",
        body=Body({"refreshToken": text(1, 1_024)}, is_required=False),
        data=Login,
        refusals=(Why.NOT_SIGNED_IN, Why.ORIGIN_UNPROVEN),
    ),
    "POST /api/auth/logout": DescribedOperation("signOut"),
    "POST /api/auth/prove": DescribedOperation(
        "proveIdentity",
        description="A login session proves its user before it resets another's password, number or second "
        "factor, gives roles, changes what a role allows, or makes a token. A sign-in is a proof, and so "
        "is a change of the password. It counts for this session alone, and no refresh makes it longer. "
        "Who has a second factor sends a code, others the password.",
        body=Body({"password": optional(CURRENT_PASSWORD), "code": optional(_CODE)}),
        refusals=(*_PASSWORD_REFUSALS, Why.SECOND_FACTOR_WRONG, Why.SIGN_INS_TOO_FREQUENT),
    ),
    "GET /api/auth/me": DescribedOperation("showOwnAccount"),
    "PUT /api/auth/password": DescribedOperation(
        "changePassword",
        body=Body({"oldPassword": CURRENT_PASSWORD, "newPassword": NEW_PASSWORD}),
        refusals=_PASSWORD_REFUSALS,
    ),
    "PUT /api/auth/phone": DescribedOperation(
        "changePhone",
        body=Body({"phone": WrittenPhone, "code": _CODE, "password": CURRENT_PASSWORD}),
        refusals=(*_PASSWORD_REFUSALS, Why.TEXT_CODE_WRONG, Why.ALREADY_TAKEN),
    ),
    "PUT /api/auth/locale": DescribedOperation("chooseLocale", body=Body({"locale": Locale})),
    "PUT /api/auth/timezone": DescribedOperation("chooseTimezone", body=Body({"timezone": TimeZone})),
    "POST /api/auth/sms-code": DescribedOperation(
        "sendTextCode",
        description="The answer is the same whether the number is known or not. To change a number an "
        f"account asks at most {SPECIFICATION.text_codes_asked_a_day} times a day.",
        security=[{"login": []}, {}],
        body=Body({"phone": WrittenPhone, "purpose": TextCodePurpose}),
        refusals=(*SIGNED_IN.refusals, Why.TEXT_CODES_TOO_FREQUENT, Why.TEXT_RECOVERY_OFF),
    ),
    "POST /api/auth/reset-password": DescribedOperation(
        "recoverPassword",
        body=Body({"phone": WrittenPhone, "code": _CODE, "newPassword": NEW_PASSWORD}),
        refusals=(Why.TEXT_CODE_WRONG, Why.TEXT_RECOVERY_OFF, Why.PASSWORDS_BUSY),
    ),
    "POST /api/auth/invitation": DescribedOperation(
        "acceptInvitation",
        description="The token is what stands behind the `#` of the link. Nobody is signed in by it.",
        body=Body({"token": text(1, LONGEST_INVITATION), "newPassword": NEW_PASSWORD}),
        refusals=(Why.INVITATION_WRONG, Why.PASSWORDS_BUSY),
    ),
    "PUT /api/auth/avatar": DescribedOperation("chooseAvatar", body=Body({"file": FILE}, MULTIPART)),
    "DELETE /api/auth/avatar": DescribedOperation("removeAvatar"),
    "GET /files/{name}": DescribedOperation(
        "showFile",
        replies={
            200: Reply("The picture.", FILE, tuple(MEDIA_TYPES.values())),
            206: Reply("The part that was asked for."),
            304: Reply("Not changed."),
        },
    ),
    "GET /api/auth/sign-ins": DescribedOperation("listSignIns"),
    "POST /api/auth/logout-elsewhere": DescribedOperation(
        "signOutElsewhere",
        "End everything of the user but this login session: other sign-ins, applications, access tokens",
        refusals=(Why.MEDIA_TYPE_UNSUPPORTED,),
    ),
    "GET /api/auth/tokens": DescribedOperation("listTokens"),
    "POST /api/auth/tokens": DescribedOperation(
        "createToken",
        description="Send it as `Authorization: Bearer` to operations that take a permission. It may do what "
        "was chosen for it, as long as its holder may, and ends with everything of its holder.",
        body=Body(
            {
                "name": text(1, LONGEST_NAME),
                "permissions": set_of(Annotated[str, one_of((*Permission, *TokenPower))], 1),
                "expiresInDays": Annotated[int, Meta(ge=LIFETIME_DAYS.least, le=LIFETIME_DAYS.most)],
            },
            is_strict=True,
        ),
        data=NewPersonalToken,
        status=201,
        refusals=(Why.PROOF_REQUIRED, Why.TOO_MANY_TOKENS, Why.PERMISSION_MISSING, Why.SUBMITTED_TWICE),
    ),
    "DELETE /api/auth/tokens/{session_id}": DescribedOperation("endToken"),
    "GET /api/auth/grants": DescribedOperation("listGrants"),
    "DELETE /api/auth/grants/{client_id}": DescribedOperation(
        "withdrawGrant",
        "Withdraw what a client may do, and end its sessions of this user",
        description="What was never given is not found, whether or not there is such a client.",
        refusals=(Why.MEDIA_TYPE_UNSUPPORTED,),
    ),
}
