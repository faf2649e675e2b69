"""The core's texts in Chinese, as it is written in China."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ostiary_core.texts.language import Language, PluralCategory


def _plural_category(count: int) -> PluralCategory:
    return "other"


_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # --- why a request was refused: the message of the envelope
        "refusal.request_malformed": "请求格式错误",
        "refusal.body_too_large": "请求体过大",
        "refusal.content_coding_unsupported": "请求体不得使用 Content-Encoding 编码",
        "refusal.arrival_unknown": "服务器内部错误",
        "refusal.not_signed_in": "未登录或令牌无效",
        "refusal.password_must_change": "请先修改密码",
        "refusal.second_factor_required": "请先设置两步验证",
        "refusal.permission_missing": "没有执行此操作的权限",
        "refusal.token_permission_missing": "此访问令牌没有执行此操作的权限",
        "refusal.proof_required": "请先确认身份：登录已有一段时间。",
        "refusal.token_power_missing": "此令牌不能执行该操作：创建令牌时未单独授予此权力。",
        "refusal.represents_no_user": "该令牌不代表任何用户，无法读取用户信息",
        "refusal.user_read_missing": "令牌缺少 user.read 权限范围",
        "refusal.query_undecodable": "查询字符串无法按 UTF-8 解码，或参数超过 100 个",
        "refusal.parameter_repeated": "参数重复",
        "refusal.parameters_malformed": "参数缺失或格式错误",
        "refusal.client_not_authorizable": (
            "client_id 对应的客户端不可用于登录授权：客户端不存在、已停用、为内置客户端，或未登记 "
            "authorization_code 授权类型"
        ),
        "refusal.redirect_uri_not_registered": (
            "redirect_uri 与客户端登记的回调地址不完全一致（区分大小写、末尾斜杠与查询参数）"
        ),
        "refusal.response_type_unsupported": "response_type 必须为 code",
        "refusal.scope_not_allowed": "scope 为空或超出客户端登记的权限范围",
        "refusal.sign_ins_too_frequent": "登录失败次数过多，请稍后再试",
        "refusal.sign_in_wrong": "用户名或密码错误",
        "refusal.sign_in_expired": "本次登录已超时或已完成，请重新登录",
        "refusal.sign_in_code_wrong": "验证码错误或已使用",
        "refusal.second_factor_wrong": "验证码错误或已使用",
        "refusal.second_factor_exists": "已设置两步验证，请先移除",
        "refusal.second_factor_key_different": "服务器内部错误",
        "refusal.text_recovery_off": "此处不能通过短信重置密码，请联系管理员",
        "refusal.credential_moved_on": "密码刚刚被修改，请重试",
        "refusal.current_password_wrong": "当前密码错误",
        "refusal.text_code_wrong": "验证码错误或已过期",
        "refusal.invitation_wrong": "此邀请已被使用、已过期或已被新的邀请取代，请向管理员索取新的邀请",
        "refusal.text_codes_too_frequent": "该账号一天内请求验证码次数过多，请稍后再试",
        "refusal.fields_invalid": "部分字段无效",
        "refusal.not_found": "未找到",
        "refusal.already_taken": "该值已被占用",
        "refusal.still_referenced": "该记录仍被引用",
        "refusal.changed_meanwhile": "在此期间另一个用户已修改了此内容",
        "refusal.built_in_protected": "内置客户端受保护，不能修改",
        "refusal.role_protected": "内置角色不能修改",
        "refusal.last_administrator": "必须保留至少一个启用的超级管理员",
        "refusal.too_many_tokens": "您的访问令牌数量已达上限，请先作废一个",
        "refusal.own_account_alone": "这是您自己的账号，请在“我的账号”中修改",
        "refusal.administrator_exists": "超级管理员已存在",
        "refusal.revoked_by_client": "会话已被客户端撤销",
        "refusal.code_replayed": "授权码被重复使用",
        "refusal.signed_out": "用户已退出登录",
        "refusal.signed_out_elsewhere": "用户退出了其他所有登录",
        "refusal.personal_token_ended": "用户作废了访问令牌",
        "refusal.session_forced_out": "管理员强制下线了该会话",
        "refusal.consent_withdrawn": "授权已被撤回",
        "refusal.password_changed": "用户修改了密码",
        "refusal.phone_changed": "用户修改了手机号",
        "refusal.password_reset_by_administrator": "管理员重置了密码",
        "refusal.invitation_accepted": "通过邀请设置了密码",
        "refusal.password_reset_by_text_message": "通过短信重置了密码",
        "refusal.second_factor_set_up": "用户设置了两步验证",
        "refusal.second_factor_removed": "用户移除了两步验证",
        "refusal.second_factor_reset_by_administrator": "管理员重置了两步验证",
        "refusal.current_password_wrong_repeatedly": "当前密码多次输入错误，已退出登录",
        "refusal.user_disabled": "用户已被停用",
        "refusal.user_deleted": "用户已被删除",
        "refusal.user_forced_out": "管理员强制用户下线",
        "refusal.client_forced_out": "管理员结束了该客户端的全部会话",
        "refusal.everybody_forced_out": "管理员结束了全部会话",
        "refusal.route_unknown": "地址不存在",
        "refusal.method_not_allowed": "不支持该请求方法",
        "refusal.body_not_json": "请求体不是有效的 JSON 对象",
        "refusal.media_type_unsupported": "请求体必须为 application/json",
        "refusal.not_multipart": "请求体必须为包含字段与文件的 multipart/form-data",
        "refusal.origin_unproven": "无法确认请求来自本站页面",
        "refusal.address_too_long": "请求地址过长",
        "refusal.too_many_requests": "请求过于频繁，请稍后再试",
        "refusal.submitted_twice": "请勿重复提交",
        "refusal.internal_error": "服务器内部错误",
        "refusal.not_ready": "服务暂不可用",
        "refusal.passwords_busy": "当前登录请求过多，请稍等几秒后重试",
        # --- what is wrong with a field; the reader knows the field from its path
        "field.required": "必填",
        "field.unknown": "未知字段",
        "field.immutable": "不可在此修改",
        "field.string": "必须是由可见字符组成的字符串",
        "field.strings": "必须是字符串数组",
        "field.integer": "必须是整数",
        "field.boolean": "必须是 true 或 false",
        "field.too-long": "过长",
        "field.duplicate": "存在重复值",
        "field.reserved": "为接口保留字，不能用作标识",
        "field.client-id": "必须是 1 到 64 个字母、数字、点、连字符或下划线，并以字母或数字开头",
        "field.redirect-uri": (
            "必须以 https:// 开头（本地可用 http://localhost 或 http://127.0.0.1），最多 2000 个 ASCII "
            "字符（其他文字的主机名用 xn--… 形式），主机名可以解析，端口为 1 到 65535，不含 #、*、反斜杠、"
            "空白、用户名或密码，且查询参数中不含 code、state、error、error_description、error_uri 或 iss"
            "（授权结果会自行添加这些参数）"
        ),
        "field.redirect-uri-needed": "authorization_code 授权类型至少需要一个回调地址",
        "field.grant-type": "必须是 authorization_code、refresh_token 或 client_credentials",
        "field.scope": "不是可用的权限范围，可用：user.read",
        "field.auto-approve-scope": "必须是该客户端的权限范围之一",
        "field.access-lifetime": "必须在 300 到 86400 秒之间",
        "field.refresh-lifetime": "必须在 3600 到 2592000 秒之间",
        "field.overlap": "必须为 0，或在 60 到 2592000 秒之间",
        "field.username": "必须是 1 到 64 个字符，且不含空白、不可见字符、引号、斜杠、冒号或尖括号",
        "field.phone": "必须是 5 到 20 位数字，可带前导加号",
        "field.password": "必须是 8 到 256 个字符",
        "field.password-unchanged": "不能与当前密码相同",
        "field.password-hash": (
            "必须是完整的哈希：argon2id、bcrypt、scrypt（$scrypt$ln=…）、Django 的 pbkdf2_sha256、"
            "passlib 的 $pbkdf2-sha256$…、$pbkdf2-sha512$…，或 Werkzeug 的 pbkdf2:…、scrypt:…"
        ),
        "field.password-hash-cost": "校验所需的内存超过 128 MiB 或耗时过长，或 bcrypt 强度参数无效",
        "field.password-twice": "不能与密码同时提供",
        "field.locale": "必须是 {choices}",
        "field.timezone": "必须是有效的时区名称",
        "field.role-code": "必须是 1 到 64 个小写字母、数字、点、连字符或下划线，并以字母开头",
        "field.permission": "不是有效的权限代码",
        "field.date": "必须是日期，例如 2027-06-30",
        "field.token-lifetime": "必须在 1 到 365 天之间",
        "field.text-code-purpose": "必须是 change-phone 或 reset-password",
        "field.picture": "必须是 PNG、JPEG 或 WebP 图片，且宽高不超过 4096 像素",
        "field.picture-too-large": "不能超过 2 MiB：请先缩小图片",
        "field.role": "角色不存在或重复",
        "field.parameter": "未知参数",
        "field.code-challenge": "必须是 SHA-256 摘要的 43 个 base64url 字符",
        "field.code-challenge-method": "必须为 S256",
        "field.page": "必须是 1 到 999999999 的整数",
        "field.page-size": "必须是 1 到 200 的整数",
        "field.sort": "必须是可排序的字段且不重复，例如 createdAt,-name",
        "field.time": "必须是 ISO 8601 格式的时间，例如 2026-01-31T08:00:00Z",
        "field.time-order": "不能晚于范围的结束时间",
        "field.choice": "不是可用的取值",
        "field.import-mode": "必须是 insert 或 upsert",
        "field.invite-later": (
            "密码数量过多，导入在请求结束后继续，此时不能为 true；请在导入完成后邀请 cannotSignIn 中的用户"
        ),
        "field.sheet": (
            "必须是可读取的 .xlsx 文件（第一个工作表的首行为列标题）或 .csv 文件（另存为“CSV UTF-8”）"
        ),
        "field.csv": "无法按 CSV 读取：请检查引号，并另存为“CSV UTF-8”或 .xlsx 文件",
        "field.sheet-empty": "列标题下没有数据行",
        "field.sheet-too-large": "内容过多，每次最多导入 2000 行",
        "field.sheet-not-kept": "仅保留一小时，请重新选择文件",
        "field.column": "的列标题“{found}”不是本表的列标题",
        "field.column-twice": "的列标题“{found}”与另一列重复",
        "field.headings": "可用的列标题：{choices}",
        "field.cell-error": "单元格内容为错误值 {choices}，请修正或清空该单元格",
        "field.cell-formula": "单元格为没有计算结果的公式，请用表格软件打开并保存，或改为粘贴数值",
        "field.cell-number": "数字超过 15 位，表格软件只保留 15 位；请将该列设为文本格式后重新输入",
        "field.cell-format": "数字或日期按格式显示，与存储的内容不同；请将该列设为文本格式后重新输入",
        "field.cell-without-heading": "单元格有内容，但所在列没有列标题",
        "list.or": " 或 ",
        # --- what a scope lets a client do
        "scope.user.read": "读取您的基本资料：用户名、姓名、头像与语言",
    }
)

CHINESE: Final = Language(tag="zh-CN", name="中文", plural_category=_plural_category, texts=_TEXTS)
