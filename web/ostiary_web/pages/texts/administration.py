"""What the administration's pages say."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ADMINISTRATION: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        # name: (English, Chinese)
        # --- lists
        "search": ("Search", "搜索"),
        "narrow": ("Apply", "筛选"),
        "show_all": ("Show all", "显示全部"),
        "any": ("any", "不限"),
        "yes": ("yes", "是"),
        "no": ("no", "否"),
        "from": ("from", "起"),
        "to": ("to", "止"),
        "actions": ("Actions", "操作"),
        "pages": ("Pages", "分页"),
        "page_before": ("Before", "上一页"),
        "page_after": ("After", "下一页"),
        "page_of": ("{total} in all · page {number} of {pages}", "共 {total} 条 · 第 {number}/{pages} 页"),
        "page_last": ("To the last page", "到最后一页"),
        "nothing_found": ("Nothing fits", "没有符合条件的记录"),
        "nothing_on_page": ("Nothing is on this page", "本页没有记录"),
        "edit": ("Edit", "编辑"),
        "delete": ("Delete", "删除"),
        "enable": ("Enable", "启用"),
        "disable": ("Disable", "停用"),
        "enabled": ("Enabled", "已启用"),
        "disabled": ("Disabled", "已停用"),
        "export": ("Export", "导出"),
        "import": ("Import", "导入"),
        "import_lead": (
            "A sheet as it was exported, or filled from the template. All of it is taken, or nothing.",
            "可使用导出的表格或按模板填写；全部成功才会生效。",
        ),
        "import_file": ("Sheet (.xlsx)", "表格文件（.xlsx）"),
        "import_mode": ("Records that are there already", "已存在的记录"),
        "import_insert": ("are a mistake: only add", "视为错误：仅新增"),
        "import_upsert": ("are changed to what the sheet says", "按表格内容更新"),
        "import_template": ("Template", "下载模板"),
        "import_done": (
            "{created} added, {updated} changed, {unchanged} unchanged.",
            "新增 {created} 条，更新 {updated} 条，未变 {unchanged} 条。",
        ),
        "working": ("Working…", "处理中…"),
        "stands_now": (
            "It is now: {value}. Saving again replaces it.",
            "当前值：{value}。再次保存将覆盖它。",
        ),
        "nothing": ("nothing", "（空）"),
        # --- clients
        "clients": ("Clients", "客户端"),
        "clients_lead": ("Systems that may ask this server for tokens.", "可向本服务申请令牌的系统。"),
        "clients_none": ("No client is registered yet", "尚未登记客户端"),
        "client_new": ("Register a client", "登记客户端"),
        "client_new_lead": (
            "The secret is shown once, right after registration.",
            "密钥仅在登记后显示一次。",
        ),
        "client_register": ("Register", "登记"),
        "client_id": ("Client ID", "客户端标识"),
        "client_name": ("Name", "名称"),
        "client_grants": ("Grants", "授权类型"),
        "client_uris": ("Redirect addresses", "回调地址"),
        "client_scopes": ("Scopes", "权限范围"),
        "client_automatic": ("Scopes without consent", "免确认权限范围"),
        "client_access": ("Access token, seconds", "访问令牌有效期（秒）"),
        "client_refresh": ("One authorization at most, seconds", "单次授权最长时间（秒）"),
        "client_created": ("Registered", "登记时间"),
        "client_used": ("Last used", "最近使用"),
        "client_hint_seconds": (
            "{least} to {most}; {default} if left empty",
            "{least} 到 {most}，留空为 {default}",
        ),
        "client_hint_seconds_kept": (
            "{least} to {most}; unchanged if left empty",
            "{least} 到 {most}，留空则不变",
        ),
        "client_built_in": ("Built in; it cannot be changed.", "内置客户端，不能修改。"),
        "client_secret": ("Secret", "密钥"),
        "client_secret_once": (
            "Copy the secret now. Only its digest is kept; it cannot be shown again.",
            "请立即复制密钥。系统仅保存其摘要，之后无法再次显示。",
        ),
        "copy_it": ("Copy", "复制"),
        "copied": ("Copied", "已复制"),
        "client_reset": ("Reset the secret", "重置密钥"),
        "client_snippets": ("For its developers", "供开发者使用"),
        "client_snippets_lead": (
            "With this client's own values; put the secret in place of $SECRET.",
            "已填入该客户端的实际参数；请将 $SECRET 替换为密钥。",
        ),
        "client_hint_id": (
            "Letters, digits, dots, hyphens, underscores; it cannot be changed later.",
            "字母、数字、点、连字符、下划线；之后不能修改。",
        ),
        "client_hint_uris": (
            "One a line, exactly as the client sends them; https, or http on localhost and 127.0.0.1.",
            "每行一个，须与客户端发送的地址完全一致；使用 https，本机可用 http。",
        ),
        "client_hint_automatic": ("Users are not asked for these.", "无需用户确认。"),
        "client_disable_will": (
            (
                "It can no longer authenticate. Running sessions that you may see and that end at once: "
                "{count}. Enabling it again brings none of them back."
            ),
            "它将无法认证，您可见的 {count} 个进行中的会话立即结束；重新启用不会恢复。",
        ),
        "client_delete_will": (
            (
                "It is gone for good, and its identifier is never given out again. Running sessions that you "
                "may see and that end at once: {count}."
            ),
            "将永久删除，您可见的 {count} 个进行中的会话立即结束，其标识不会再被使用。",
        ),
        "client_reset_will": (
            (
                "The old secret stops working at once, or when the time chosen here is over. Issued tokens "
                "stay good. Running sessions that you may see and that go on: {count}."
            ),
            (
                "旧密钥立即失效，或在所选时间后失效。已签发的令牌不受影响："
                "您可见的 {count} 个进行中的会话继续有效。"
            ),
        ),
        "client_overlap": ("The old secret works on for", "旧密钥保留时间"),
        "client_overlap_none": ("no time: it stops working at once", "不保留，立即失效"),
        "client_overlap_hour": ("1 hour", "1 小时"),
        "client_overlap_day": ("1 day", "1 天"),
        "client_overlap_week": ("7 days", "7 天"),
        "client_overlap_month": ("30 days", "30 天"),
        "client_secret_used": ("Secret last used", "密钥最近使用"),
        "client_old_until": ("Old secret works until", "旧密钥有效期至"),
        "client_old_used": ("Old secret last used", "旧密钥最近使用"),
        "client_wrong_secrets": ("Wrong secrets", "错误密钥次数"),
        "client_wrong_last": ("Last wrong secret", "最近错误密钥"),
        "client_end_old": ("End the old secret", "停用旧密钥"),
        "client_end_old_will": (
            (
                "Whoever still uses the old secret can no longer authenticate. Running sessions that you may "
                "see and that go on: {count}."
            ),
            "仍在使用旧密钥的系统将无法认证；您可见的 {count} 个进行中的会话继续有效。",
        ),
        # --- people
        "people": ("People", "用户"),
        "people_lead": ("Accounts of this backend.", "管理后台的账号。"),
        "people_none": ("There are no accounts yet", "尚无账号"),
        "person_new": ("Add a person", "新增用户"),
        "person_initial_password": ("First password", "初始密码"),
        "person_initial_password_hint": (
            "8 characters or more. The person has to choose another at the first sign-in.",
            "至少 8 个字符；用户首次登录时须修改。",
        ),
        "person_roles": ("Roles", "角色"),
        "person_no_roles": ("No roles are registered.", "尚无角色。"),
        "person_reset": ("Set a new password", "重置密码"),
        "person_reset_will": (
            (
                "{name} must choose another password at the next sign-in. Running sessions that end at "
                "once: {count}."
            ),
            "{name} 的 {count} 个进行中的会话立即结束，下次登录时须修改密码。",
        ),
        "person_force": ("Sign out everywhere", "强制下线"),
        "person_force_will": (
            "{name} is signed out in browsers and applications alike. Running sessions that end: {count}.",
            "{name} 在浏览器与应用中的 {count} 个会话立即结束。",
        ),
        "person_disable_will": (
            (
                "{name} can no longer sign in. Running sessions that end at once: {count}. Enabling again "
                "brings none of them back."
            ),
            "{name} 将无法登录，{count} 个进行中的会话立即结束；重新启用不会恢复。",
        ),
        "person_delete_will": (
            "The account of {name} is gone for good. Running sessions that end at once: {count}.",
            "账号将永久删除，{name} 的 {count} 个进行中的会话立即结束。",
        ),
        "person_phone_ends": (
            "Another number ends everything the person has open.",
            "更换手机号会结束该用户的全部会话。",
        ),
        # --- roles
        "roles": ("Roles", "角色"),
        "roles_lead": ("Named sets of permissions.", "权限的集合。"),
        "roles_none": ("No roles are registered yet", "尚无角色"),
        "role_new": ("Add a role", "新增角色"),
        "role_permissions": ("Permissions", "权限"),
        "role_built_in": (
            "Built in: it holds every permission and cannot be changed.",
            "内置角色，拥有全部权限，不能修改。",
        ),
        "role_delete_will": (
            "The role {name} is gone. That works only while nobody holds it.",
            "将删除角色 {name}；仅在无人持有时可删除。",
        ),
        # --- online users
        "online": ("Online users", "在线用户"),
        "online_lead": (
            "Every sign-in and every authorization that is running now.",
            "当前进行中的全部登录与授权。",
        ),
        "online_none": ("Nobody is signed in", "当前无人在线"),
        "online_login": ("Sign-in", "登录"),
        "online_oauth": ("Authorization", "授权"),
        "online_end": ("End", "下线"),
        "online_end_will": (
            "This one session ends at once: both its tokens are dead, and nothing else is touched.",
            "仅结束该会话：其令牌立即失效，其他会话不受影响。",
        ),
        "online_life": ("Its life", "经过"),
        "life_erased": (
            "The record of this session was erased some time after its end. This is what is kept of it.",
            "该会话的记录在其结束后已被清除，以下是留存的事件。",
        ),
        # --- audit
        "audit": ("Audit", "审计"),
        "audit_lead": ("What happened, the latest first.", "发生的事件，最新在前。"),
        "audit_none": ("Nothing has happened yet", "尚无记录"),
        "life": ("The life of a session", "会话经过"),
        "life_machine": ("represents no user", "不代表任何用户"),
    }
)
