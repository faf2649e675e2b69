"""The question whether an application may sign the user in."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

CONSENT: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        # name: (English, Chinese)
        "consent": ("Sign in to another system", "登录其他系统"),
        "asks": ("wants to sign you in", "请求使用您的账号登录"),
        "will_be_able": ("If you agree, it can:", "同意后，该应用可以："),
        "wont_be_able": (
            "It will not see your password and cannot change anything here.",
            "它看不到您的密码，也无法更改您在此处的任何内容。",
        ),
        "leads_to": ("You will be taken to", "您将前往"),
        "withdraw_later": (
            "You can withdraw this at any time under Applications.",
            "您可以随时在「已授权应用」中撤回。",
        ),
        "approve": ("Agree and go on", "同意并继续"),
        "deny": ("Decline", "拒绝"),
        "signed_in_as": ("Signed in as", "当前账号："),
        "switch_user": ("Use another account", "使用其他账号"),
        "consent_failed": ("This sign-in request cannot go on", "该登录请求无法继续"),
        "consent_failed_lead": (
            (
                "The system that sent you here made a request that is not in order. "
                "Nothing was shared with it. Its developers will want to know:"
            ),
            "引导您前来的系统发出的请求有误，未向其提供任何信息。请将以下内容告知其开发者：",
        ),
    }
)
