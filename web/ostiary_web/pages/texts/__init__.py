"""What the pages say, in both languages: `PAGE_TEXTS[language][name]`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ostiary_core.http.language import Language
from ostiary_web.pages.texts.account import ACCOUNT
from ostiary_web.pages.texts.administration import ADMINISTRATION
from ostiary_web.pages.texts.consent import CONSENT
from ostiary_web.pages.texts.frame import FRAME
from ostiary_web.pages.texts.sign_in import SIGN_IN

__all__ = ["PAGE_TEXTS"]

_PARTS: Final = (FRAME, SIGN_IN, CONSENT, ACCOUNT, ADMINISTRATION)


def _joined() -> dict[str, tuple[str, str]]:
    joined: dict[str, tuple[str, str]] = {}
    for part in _PARTS:
        twice = joined.keys() & part.keys()
        assert not twice, f"texts named twice: {sorted(twice)}"
        joined.update(part)
    return joined


PAGE_TEXTS: Final[Mapping[Language, Mapping[str, str]]] = MappingProxyType(
    {
        Language.EN: MappingProxyType({name: english for name, (english, _) in _joined().items()}),
        Language.ZH: MappingProxyType({name: chinese for name, (_, chinese) in _joined().items()}),
    }
)
