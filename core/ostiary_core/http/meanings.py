"""The HTTP meaning of every reason: one table of `error`, status, envelope code and text.

The texts for token-service errors say nothing that tells an unknown token from another client's, or an
unknown client from a wrong secret. All of them fit the characters of RFC 6749 §5.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ostiary_core.model.fields import FieldRule
from ostiary_core.model.why import Why


@dataclass(frozen=True, slots=True)
class Meaning:
    """The answer to a refusal: `error`, status, envelope code and texts.

    `error` is the RFC 6749 code for token-service answers, None where that form does not apply. `status`
    is the HTTP status; `invalid_client` by form fields at `/token` alone differs from it.
    """

    status: int
    error: str | None
    code: str
    en: str
    zh: str


def _oauth(error: str, status: int, en: str) -> Meaning:
    """Make a token-service error. RFC answers are in English only; the code is for logs and audit texts."""
    return Meaning(status, error, "A0400", en, en)


def _request(en: str) -> Meaning:
    return _oauth("invalid_request", 400, en)


def _grant(en: str) -> Meaning:
    return _oauth("invalid_grant", 400, en)


def _scope(en: str) -> Meaning:
    return _oauth("invalid_scope", 400, en)


_CLIENT: Final = _oauth("invalid_client", 401, "Client authentication failed.")
_CODE: Final = _grant("The authorization code is not valid.")
_REFRESH: Final = _grant("The refresh token is not valid.")
_REPLAYED: Final = _grant(
    "The refresh token was already used. The session has ended; send the user to sign in again.",
)


def _envelope(status: int, code: str, en: str, zh: str) -> Meaning:
    return Meaning(status, None, code, en, zh)


_FAILED: Final = _envelope(500, "A0500", "Something went wrong on the server.", "服务器内部错误")


def _ending(en: str, zh: str) -> Meaning:
    """Make the meaning of a reason that ends sessions: whoever used one is not signed in any more."""
    return Meaning(401, "invalid_grant", "A1001", en, zh)


MEANINGS: Final[Mapping[Why, Meaning]] = MappingProxyType(
    {
        Why.REQUEST_MALFORMED: Meaning(
            400, "invalid_request", "A0400", "The request is malformed.", "请求格式错误"
        ),
        Why.BODY_TOO_LARGE: Meaning(413, "invalid_request", "C1413", "The body is too large.", "请求体过大"),
        Why.NOT_FORM_ENCODED: _request("The body must be application/x-www-form-urlencoded in UTF-8."),
        Why.FORM_UNDECODABLE: _request("The form cannot be decoded as UTF-8, or holds a NUL character."),
        Why.FIELD_NESTED: _request("A field must be a plain value, not an array or object."),
        Why.FIELD_REPEATED: _request("A field was sent more than once."),
        Why.TWO_AUTHENTICATIONS: _request(
            "Authenticate either by HTTP Basic or by client_id and client_secret, not by both."
        ),
        Why.CREDENTIALS_MISSING: _CLIENT,
        Why.CREDENTIALS_MALFORMED: _CLIENT,
        Why.CLIENT_UNKNOWN: _CLIENT,
        Why.CLIENT_BUILT_IN: _CLIENT,
        Why.CLIENT_DELETED: _CLIENT,
        Why.CLIENT_DISABLED: _CLIENT,
        Why.CLIENT_SECRET_WRONG: _CLIENT,
        Why.GRANT_TYPE_MISSING: _request("grant_type is missing."),
        Why.GRANT_TYPE_UNKNOWN: _oauth(
            "unsupported_grant_type",
            400,
            "grant_type must be authorization_code, refresh_token or client_credentials.",
        ),
        Why.GRANT_NOT_REGISTERED: _oauth(
            "unauthorized_client", 400, "The client does not register this grant type."
        ),
        Why.CODE_MISSING: _request("code is missing."),
        Why.REDIRECT_URI_MISSING: _request("redirect_uri is missing."),
        Why.REFRESH_TOKEN_MISSING: _request("refresh_token is missing."),
        Why.TOKEN_MISSING: _request("token is missing."),
        Why.CODE_UNKNOWN: _CODE,
        Why.CODE_OF_ANOTHER_CLIENT: _CODE,
        Why.CODE_USED: _grant("The authorization code was already used."),
        Why.CODE_VOID: _grant("The authorization code is void."),
        Why.CODE_EXPIRED: _grant("The authorization code has expired."),
        Why.REDIRECT_URI_DIFFERENT: _request(
            "redirect_uri differs from the one in the authorization request."
        ),
        Why.VERIFIER_MISSING: _grant("code_verifier is missing."),
        Why.VERIFIER_WRONG: _grant("code_verifier does not match the code_challenge."),
        Why.REDIRECT_URI_UNREGISTERED: _grant("The client no longer registers the redirect URI."),
        Why.SCOPE_UNREGISTERED: _scope("The scope is not registered for the client."),
        Why.TOKEN_UNKNOWN: _REFRESH,
        Why.TOKEN_OF_ANOTHER_CLIENT: _REFRESH,
        Why.SESSION_ENDED: _REFRESH,
        Why.MAXIMUM_REACHED: _grant("The authorization has reached its maximum duration."),
        Why.REPLAYED_TWO_GENERATIONS_LATE: _REPLAYED,
        Why.REPLAYED_AFTER_GRACE: _REPLAYED,
        Why.REPLAYED_BY_ANOTHER_USER_AGENT: _REPLAYED,
        Why.ARRIVAL_UNKNOWN: _FAILED,
        Why.SCOPE_TOO_WIDE: _scope("The scope exceeds what was granted."),
        Why.NO_SCOPE_REGISTERED: _scope("The client has no registered scope."),
        Why.NOT_SIGNED_IN: _envelope(
            401, "A1001", "You are not signed in, or the token is not valid.", "未登录或令牌无效"
        ),
        Why.PASSWORD_MUST_CHANGE: _envelope(
            403, "A1004", "You must change your password first.", "请先修改密码"
        ),
        Why.PERMISSION_MISSING: _envelope(
            403, "A0403", "You do not have permission to do this.", "没有执行此操作的权限"
        ),
        Why.REPRESENTS_NO_USER: _envelope(
            403, "B4003", "The token represents no user.", "该令牌不代表任何用户，无法读取用户信息"
        ),
        Why.USER_READ_MISSING: _envelope(
            403, "A0430", "The token lacks the scope user.read.", "令牌缺少 user.read 权限范围"
        ),
        Why.QUERY_UNDECODABLE: _envelope(
            400,
            "A0401",
            "The query cannot be decoded as UTF-8, or has more than 100 fields.",
            "查询字符串无法按 UTF-8 解码，或参数超过 100 个",
        ),
        Why.PARAMETER_REPEATED: _envelope(400, "A0401", "A parameter was sent more than once.", "参数重复"),
        Why.PARAMETERS_MALFORMED: _envelope(
            400,
            "A0401",
            "redirect_uri is required, code_challenge must be the 43 base64url characters of a SHA-256 "
            "digest, and code_challenge_method must be S256.",
            "redirect_uri 为必填项；code_challenge 必须是 SHA-256 摘要的 43 个 base64url 字符；"
            "code_challenge_method 必须为 S256",
        ),
        Why.CLIENT_NOT_AUTHORIZABLE: _envelope(
            400,
            "B4001",
            "client_id names no client that can ask users to sign in: it is unknown, disabled, built in, or "
            "does not register the grant authorization_code.",
            "client_id 对应的客户端不可用于登录授权：客户端不存在、已停用、为内置客户端，"
            "或未登记 authorization_code 授权类型",
        ),
        Why.REDIRECT_URI_NOT_REGISTERED: _envelope(
            400,
            "B4001",
            "redirect_uri is not exactly one of the client's registered addresses; case, a trailing slash "
            "and extra query parameters all count.",
            "redirect_uri 与客户端登记的地址不完全一致（区分大小写、末尾斜杠与查询参数）",
        ),
        Why.RESPONSE_TYPE_UNSUPPORTED: _envelope(
            400, "B4002", "response_type must be code.", "response_type 必须为 code"
        ),
        Why.SCOPE_NOT_ALLOWED: _envelope(
            400,
            "B4002",
            "scope is empty or names a scope that the client does not register.",
            "scope 为空或超出客户端登记的权限范围",
        ),
        Why.SIGN_INS_TOO_FREQUENT: _envelope(
            429,
            "A1003",
            "Too many failed sign-ins. Wait a moment and try again.",
            "登录失败次数过多，请稍后再试",
        ),
        Why.SIGN_IN_WRONG: _envelope(401, "A1002", "The user name or password is wrong.", "用户名或密码错误"),
        Why.CREDENTIAL_MOVED_ON: _envelope(
            409,
            "A0409",
            "The password was changed at the same moment. Try again.",
            "密码刚刚被修改，请重试",
        ),
        Why.CURRENT_PASSWORD_WRONG: _envelope(422, "A1005", "The current password is wrong.", "当前密码错误"),
        Why.TEXT_CODE_WRONG: _envelope(
            422, "A1006", "The code is wrong or has expired.", "验证码错误或已过期"
        ),
        Why.TEXT_CODES_TOO_FREQUENT: _envelope(
            429,
            "A0429",
            "This account has asked for too many codes within a day. Try again later.",
            "该账号一天内请求验证码次数过多，请稍后再试",
        ),
        Why.FIELDS_INVALID: _envelope(400, "A0401", "Some fields are not valid.", "部分字段无效"),
        Why.NOT_FOUND: _envelope(404, "A0404", "Not found.", "未找到"),
        Why.ALREADY_TAKEN: _envelope(409, "A0409", "That is already taken.", "该值已被占用"),
        Why.STILL_REFERENCED: _envelope(409, "A0409", "The record is still referenced.", "该记录仍被引用"),
        Why.CHANGED_MEANWHILE: _envelope(
            409, "A0409", "Somebody else has changed this in the meantime.", "在此期间其他人已修改了此内容"
        ),
        Why.BUILT_IN_PROTECTED: _envelope(
            422, "B4010", "A built-in client is protected.", "内置客户端受保护，不能修改"
        ),
        Why.ROLE_PROTECTED: _envelope(
            422, "B1002", "The built-in role cannot be changed.", "内置角色不能修改"
        ),
        Why.LAST_ADMINISTRATOR: _envelope(
            422,
            "B1001",
            "The last enabled super administrator must stay.",
            "必须保留至少一个启用的超级管理员",
        ),
        Why.ADMINISTRATOR_EXISTS: _envelope(
            409, "A0409", "There already is a super administrator.", "超级管理员已存在"
        ),
        Why.REVOKED_BY_CLIENT: _ending("The client revoked the session.", "会话已被客户端撤销"),
        Why.CODE_REPLAYED: _ending("The authorization code was used twice.", "授权码被重复使用"),
        Why.SIGNED_OUT: _ending("The user signed out.", "用户已退出登录"),
        Why.SESSION_FORCED_OUT: _ending("An administrator ended the session.", "管理员强制下线了该会话"),
        Why.CONSENT_WITHDRAWN: _ending("The user withdrew the consent.", "用户撤回了授权"),
        Why.PASSWORD_CHANGED: _ending("The user changed the password.", "用户修改了密码"),
        Why.PHONE_CHANGED: _ending("The user changed the telephone number.", "用户修改了手机号"),
        Why.PASSWORD_RESET_BY_ADMINISTRATOR: _ending(
            "An administrator reset the password.", "管理员重置了密码"
        ),
        Why.PASSWORD_RESET_BY_TEXT_MESSAGE: _ending(
            "The password was reset by text message.", "通过短信重置了密码"
        ),
        Why.CURRENT_PASSWORD_WRONG_REPEATEDLY: _ending(
            "The current password was entered wrongly too often; you have been signed out.",
            "当前密码多次输入错误，已退出登录",
        ),
        Why.USER_DISABLED: _ending("The user was disabled.", "用户已被停用"),
        Why.USER_DELETED: _ending("The user was deleted.", "用户已被删除"),
        Why.USER_FORCED_OUT: _ending("An administrator signed the user out.", "管理员强制用户下线"),
        Why.ROUTE_UNKNOWN: _envelope(404, "A0404", "There is nothing at this address.", "地址不存在"),
        Why.METHOD_NOT_ALLOWED: _envelope(
            405, "A0405", "This method is not allowed here.", "不支持该请求方法"
        ),
        Why.BODY_NOT_JSON: _envelope(
            400, "A0401", "The body is not a valid JSON object.", "请求体不是有效的 JSON 对象"
        ),
        Why.MEDIA_TYPE_UNSUPPORTED: _envelope(
            415, "A0415", "The body must be application/json.", "请求体必须为 application/json"
        ),
        Why.NOT_MULTIPART: _envelope(
            415,
            "A0415",
            "The body must be multipart/form-data with its fields and a file.",
            "请求体必须为包含字段与文件的 multipart/form-data",
        ),
        Why.ORIGIN_UNPROVEN: _envelope(
            403,
            "A0403",
            "The request does not prove that it comes from this site's own pages.",
            "无法确认请求来自本站页面",
        ),
        Why.TOO_MANY_REQUESTS: _envelope(
            429, "A0429", "Too many requests. Try again in a moment.", "请求过于频繁，请稍后再试"
        ),
        Why.SUBMITTED_TWICE: _envelope(429, "A0429", "The same request was just made.", "请勿重复提交"),
        Why.INTERNAL_ERROR: _FAILED,
        Why.NOT_READY: _envelope(503, "A0503", "The server cannot do its work at present.", "服务暂不可用"),
    }
)
"""Every reason has a row; a test says so."""

FIELD_RULES: Final[Mapping[FieldRule, tuple[str, str]]] = MappingProxyType(
    {
        FieldRule.REQUIRED: ("is required", "必填"),
        FieldRule.UNKNOWN: ("is no field of this record", "未知字段"),
        FieldRule.IMMUTABLE: ("cannot be changed here", "不可在此修改"),
        FieldRule.STRING: ("must be a string of printable characters", "必须是由可打印字符组成的字符串"),
        FieldRule.STRINGS: ("must be an array of strings", "必须是字符串数组"),
        FieldRule.INTEGER: ("must be a whole number", "必须是整数"),
        FieldRule.BOOLEAN: ("must be true or false", "必须是 true 或 false"),
        FieldRule.TOO_LONG: ("is too long", "过长"),
        FieldRule.DUPLICATE: ("names the same value twice", "存在重复值"),
        FieldRule.RESERVED: ("is a word that this interface needs for itself", "为接口保留字，不能用作标识"),
        FieldRule.CLIENT_ID: (
            "must be 1 to 64 letters, digits, dots, hyphens or underscores, and begin with a letter or digit",
            "必须是 1 到 64 个字母、数字、点、连字符或下划线，并以字母或数字开头",
        ),
        FieldRule.REDIRECT_URI: (
            (
                "must begin with https:// (or be http://localhost or http://127.0.0.1), be at most 2000 "
                "ASCII characters (a host of other letters as xn--…) with a port from 1 to 65535 if any, "
                "and hold no #, *, backslash, white space, user name or password"
            ),
            (
                "必须以 https:// 开头（本地可用 http://localhost 或 http://127.0.0.1），"
                "最多 2000 个 ASCII 字符（其他文字的主机名用 xn--… 形式），端口为 1 到 65535，"
                "且不含 #、*、反斜杠、空白、用户名或密码"
            ),
        ),
        FieldRule.REDIRECT_URI_NEEDED: (
            "needs at least one address for the grant authorization_code",
            "authorization_code 授权类型至少需要一个回调地址",
        ),
        FieldRule.GRANT_TYPE: (
            "must be authorization_code, refresh_token or client_credentials",
            "必须是 authorization_code、refresh_token 或 client_credentials",
        ),
        FieldRule.SCOPE: (
            "is no scope of this server; there is user.read",
            "不是可用的权限范围，可用：user.read",
        ),
        FieldRule.AUTO_APPROVE_SCOPE: ("must be one of the client's scopes", "必须是该客户端的权限范围之一"),
        FieldRule.ACCESS_LIFETIME: ("must be 300 to 86400 seconds", "必须在 300 到 86400 秒之间"),
        FieldRule.REFRESH_LIFETIME: ("must be 3600 to 2592000 seconds", "必须在 3600 到 2592000 秒之间"),
        FieldRule.OVERLAP: ("must be 0, or 60 to 2592000 seconds", "必须为 0，或在 60 到 2592000 秒之间"),
        FieldRule.USERNAME: (
            "must be 1 to 64 characters without white space, quotes, slashes, colons or angle brackets",
            "必须是 1 到 64 个字符，且不含空白、引号、斜杠、冒号或尖括号",
        ),
        FieldRule.PHONE: (
            "must be 5 to 20 digits, with or without a leading plus",
            "必须是 5 到 20 位数字，可带前导加号",
        ),
        FieldRule.PASSWORD: ("must be 8 to 256 characters", "必须是 8 到 256 个字符"),
        FieldRule.PASSWORD_UNCHANGED: ("must differ from the current password", "不能与当前密码相同"),
        FieldRule.LOCALE: ("must be zh-CN or en-US", "必须是 zh-CN 或 en-US"),
        FieldRule.TIMEZONE: ("must be the name of a time zone", "必须是有效的时区名称"),
        FieldRule.ROLE_CODE: (
            "must be 1 to 64 lower-case letters, digits, dots, hyphens or underscores, a letter first",
            "必须是 1 到 64 个小写字母、数字、点、连字符或下划线，并以字母开头",
        ),
        FieldRule.PERMISSION: ("is no permission of this server", "不是有效的权限代码"),
        FieldRule.TEXT_CODE_PURPOSE: (
            "must be change-phone or reset-password",
            "必须是 change-phone 或 reset-password",
        ),
        FieldRule.PICTURE: (
            "must be a PNG, JPEG or WebP picture of at most 4096 by 4096 pixels",
            "必须是 PNG、JPEG 或 WebP 图片，且宽高不超过 4096 像素",
        ),
        FieldRule.ROLE: ("is no role, or is named twice", "角色不存在或重复"),
        FieldRule.PARAMETER: ("is no parameter of this request", "未知参数"),
        FieldRule.CODE_CHALLENGE: (
            "must be the 43 base64url characters of a SHA-256 digest",
            "必须是 SHA-256 摘要的 43 个 base64url 字符",
        ),
        FieldRule.CODE_CHALLENGE_METHOD: ("must be S256", "必须为 S256"),
        FieldRule.PAGE: ("must be a whole number from 1 to 999999999", "必须是 1 到 999999999 的整数"),
        FieldRule.PAGE_SIZE: ("must be a whole number from 1 to 200", "必须是 1 到 200 的整数"),
        FieldRule.SORT: (
            "must name fields that can be sorted by, each once, as createdAt,-name",
            "必须是可排序的字段且不重复，例如 createdAt,-name",
        ),
        FieldRule.TIME: (
            "must be a time in ISO 8601, as 2026-01-31T08:00:00Z",
            "必须是 ISO 8601 格式的时间，例如 2026-01-31T08:00:00Z",
        ),
        FieldRule.TIME_ORDER: ("must not be later than the end of the range", "不能晚于范围的结束时间"),
        FieldRule.CHOICE: ("is none of the values there are", "不是可用的取值"),
        FieldRule.IMPORT_MODE: ("must be insert or upsert", "必须是 insert 或 upsert"),
        FieldRule.SHEET: (
            "must be a readable .xlsx file whose first sheet begins with a row of headings",
            "必须是可读取的 .xlsx 文件，且第一个工作表的首行为列标题",
        ),
        FieldRule.SHEET_EMPTY: ("holds no rows below the headings", "列标题下没有数据行"),
        FieldRule.SHEET_TOO_LARGE: (
            "holds too much; at most 2000 rows are imported at a time",
            "内容过多，每次最多导入 2000 行",
        ),
        FieldRule.COLUMN: (
            "is no heading of this sheet, or is there twice; take those of the import template",
            "不是本表的列标题或重复，请使用导入模板中的列标题",
        ),
    }
)
"""Every rule of a field, in English and Chinese; the reader knows the field from its path."""
