"""A third language, made up: all of it in one module.

It says in French quotation marks what English says, and its plurals are those of Polish.
"""

from ostiary_core.texts import ENGLISH, LANGUAGES, Language, Languages, Plural, PluralCategory


def _plural_category(count: int) -> PluralCategory:
    if count == 1:
        return "one"
    return "few" if count % 10 in (2, 3, 4) and count // 10 % 10 != 1 else "many"


def _wrap_text(text: str | Plural) -> str | Plural:
    if isinstance(text, str):
        return f"«{text}»"
    one, few, many = (f"«{name}: {text.other}»" for name in ("one", "few", "many"))
    return Plural(one=one, few=few, many=many, other="")


def made_up(english: Language) -> Language:
    """It with a text for every key of English."""
    return Language(
        tag="qaa-QM",  # ISO 639-2 keeps qaa for local use
        name="«Made up»",
        plural_category=_plural_category,
        texts={key: _wrap_text(text) for key, text in english.texts.items()},
    )


MADE_UP = made_up(ENGLISH)

THREE = Languages((*LANGUAGES, MADE_UP))
