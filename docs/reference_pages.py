"""The pages of docs/reference: what the code knows of itself, written down."""

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from ostiary_core import events
from ostiary_core.http.envelope import field_text, text_of
from ostiary_core.http.meanings import MEANINGS
from ostiary_core.model.audit import NOT_KEPT
from ostiary_core.model.fact import FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.texts import ENGLISH
from ostiary_net.observability.metrics import Metrics
from ostiary_web.app import asgi_app
from ostiary_web.cli.command_line import main as command_line
from ostiary_web.server import wiring
from ostiary_web.server.setting_values import SettingError
from ostiary_web.server.settings import Settings
from ostiary_web.texts import LANGUAGES
from tests.advisories.published import PUBLISHED, proofs_of, rows_of

ROOT = Path(__file__).resolve().parent.parent
_GENERATED = "<!-- Written by `make docs` from {source}. Changes made here are lost. -->"
_NONSENSE = ("\x01 nonsense", "x")


def reference_pages() -> dict[str, str]:
    """The text of each page by its place under docs/."""
    made: dict[str, Callable[[], Iterator[str]]] = {
        "settings": _settings,
        "errors": _errors,
        "audit": _audit,
        "events": _events,
        "metrics": _metrics,
        "command-line": _command_line,
        "advisories": _advisories,
    }
    return {f"reference/{name}.md": "\n".join(lines()) + "\n" for name, lines in made.items()}


def _head(title: str, source: str) -> Iterator[str]:
    yield f"# {title}"
    yield ""
    yield _GENERATED.format(source=source)
    yield ""


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


# --- settings


class _Asked(dict[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self, **set_to: str) -> None:
        super().__init__(**set_to)
        self.names: list[str] = []

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self.names:
            self.names.append(name)
        return super().get(name, default)


def setting_names() -> list[str]:
    """Every variable that the settings are read from."""
    environment = _Asked()
    Settings.from_environment(environment)
    return sorted(environment.names)


def _settings() -> Iterator[str]:
    yield "# Settings"
    yield ""
    yield "<!-- Defaults and meanings are edited here; `make docs` adds settings and fills in `Allowed`. -->"
    yield ""
    yield "Settings come from the environment and are read once, at the start. An invalid setting stops"
    yield "startup with one line: which setting, what is wrong, what is allowed. An empty value counts as"
    yield "not set."
    yield ""
    yield "Sizes of uploads are no settings. A picture may have 2 MiB, an imported sheet 8 MiB, other bodies"
    yield "1 MiB in the administration and 64 KiB elsewhere (`_body_limit` in `web/app/asgi_app.py`)."
    yield ""
    described = described_settings()
    names = [*described, *sorted(set(setting_names()) - set(described))]
    rows = [(f"`{name}`", *described.get(name, ("", ""))) for name in names if name in setting_names()]
    yield from _table(
        ("Setting", "Default", "Allowed", "Meaning"),
        ((name, default, _allowed(name.strip("`")), meaning) for name, default, meaning in rows),
    )


def described_settings() -> dict[str, tuple[str, str]]:
    """Return the default and the meaning of each setting, as the page of settings has them."""
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.*?) \| .*? ?\| (.*) \|$", page, re.MULTILINE)
    return {name: (default, meaning) for name, default, meaning in rows}


def _allowed(name: str) -> str:
    """What the settings themselves say is allowed, asked for with values that are not."""
    for nonsense in _NONSENSE:
        try:
            Settings.from_environment({name: nonsense})
        except SettingError as error:
            if str(error).startswith(f"{name}: "):
                return str(error).split("; allowed: ", 1)[1]
    return ""


# --- errors


def _errors() -> Iterator[str]:
    yield from _head("Errors", "`ostiary_core.http.meanings`")
    yield "Every reason of a refusal or an ending, by what it is about; those of the token service in the"
    yield "order of its checks. `why` is the word of the audit trail, the log and the metrics; a client sees"
    yield "the status with `error` (token service) or `code` (everything else). Switch on those and never on"
    yield "the text."
    yield "`invalid_client` by form fields at `/token` is a 400."
    yield ""
    yield "From `revoked_by_client` to `everybody_forced_out` stand endings, which the audit trail tells."
    yield "Who comes with a token or code of what has ended is answered as `session_ended` or `code_void`"
    yield "at the token service, and as `not_signed_in` elsewhere; only the last wrong entry of the current"
    yield "password is answered with the text of its own row."
    yield ""
    rows = (
        (
            f"`{why.value}`",
            str(meaning.status),
            f"`{meaning.error}`" if meaning.error else "",
            f"`{meaning.code}`",
            text_of(why, ENGLISH),
        )
        for why, meaning in MEANINGS.items()
    )
    yield from _table(("why", "HTTP", "error", "code", "Text"), rows)
    yield ""
    yield "## What a field must be"
    yield ""
    yield "The texts of `errors: [{path, msg}]`."
    yield ""
    yield from _table(
        ("Rule", *(language.name for language in LANGUAGES)),
        (
            (
                f"`{rule}`",
                *(field_text(FieldFault("", rule, LANGUAGES.tags), language) for language in LANGUAGES),
            )
            for rule in FieldRule
        ),
    )


# --- the audit trail and the events of the core


def _audit() -> Iterator[str]:
    yield from _head("Kinds of audit entries", "`ostiary_core.model.fact.FactKind`")
    yield "An entry is kept in the transaction of what it tells of, so neither is there without the other. It"
    yield "holds no secret. Each has the time, who it happened to, who did it, the client, the session, the"
    yield "reason (`why`), the address and User-Agent it came from, and the trace id of the request."
    yield ""
    yield "What a signed-in user, a personal access token or an operator did also has what acted: the login"
    yield "session or token (`actorSessionId`), the name of that time (`actorName`), and of a token its name"
    yield "and fingerprint. `actorId` is `command-line` for what an operator did on the server; entries of"
    yield "earlier releases have none of it. A permission that a token lacked is `permission_missing` beside"
    yield "the token's name."
    yield ""
    rows = (
        (
            f"`{kind.value}`",
            LANGUAGES.default.text(f"fact.{kind}"),
            "for the metrics alone" if kind in NOT_KEPT else "in the audit trail",
        )
        for kind in FactKind
    )
    yield from _table(("Kind", "In the pages", "Kept"), rows)


def _events() -> Iterator[str]:
    yield from _head("Events of the core", "`ostiary_core.events`")
    yield "Whatever happens is one of these, complete in itself. `decide(event, snapshot, now)` answers it."
    for title, event in sorted(vars(events).items()):
        if not dataclasses.is_dataclass(event) or not isinstance(event, type):
            continue
        yield ""
        yield f"## {title}"
        yield ""
        yield " ".join((event.__doc__ or "").split("\n\n")[0].split())
        fields = dataclasses.fields(event)
        if fields:
            yield ""
            hints = typing.get_type_hints(event)
            yield from _table(
                ("Field", "Type"),
                ((f"`{field.name}`", f"`{_type_name(hints[field.name])}`") for field in fields),
            )


def _type_name(hint: Any) -> str:
    said = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
    return re.sub(r"\b(?:[a-z_]+\.)+", "", said)


# --- what runs


def _metrics() -> Iterator[str]:
    yield from _head("Metrics", "`ostiary_net.observability.metrics` and the application")
    yield "What a process counts, in the text format of Prometheus. No label holds an identifier of a user, a"
    yield "client or a token."
    yield ""
    told = [
        line.split(" ", 3)[1:] for line in Metrics().write_exposition().splitlines() if line.startswith("# ")
    ]
    meanings = {name: said for word, name, said in told if word == "HELP"}
    kinds = {name: said for word, name, said in told if word == "TYPE"}
    for kind, name, said in _added():
        meanings[name], kinds[name] = said, kind
    rows = ((f"`{name}`", kinds.get(name, ""), meanings[name]) for name in sorted(meanings))
    yield from _table(("Metric", "Kind", "Meaning"), rows)


def _added() -> Iterator[tuple[str, str, str]]:
    """What the application adds to be read whenever the metrics are asked for: kind, name and meaning."""
    for module in (wiring, asgi_app):
        yield from re.findall(r'\.add_(gauge|counter)\(\s*"(\w+)",\s*"([^"]+)"', inspect.getsource(module))


_COMMAND_LINE = """\
A refusal goes to standard error and exits with 1, a command that cannot be understood with 2. A refusal
names the record that it is about, and the option as it is typed.

Where a name is taken, several are (`USERNAME...`), and `-` reads them from standard input, one on each
line. Each record is changed by itself: one that is refused keeps none of the others from it, and the
command exits with 1 in the end. One record is printed whole, of several a line each; with `--json` it is
one object, and of several `{"items": [...]}`, with a line of JSON on standard error for each that was
refused.

```sh
ostiary user list --role support --page-size 200 --json | jq -r '.items[].username' >support
ostiary user disable - <support
```

`--dry-run` says what a command would do and what is refused, and does nothing. `--sort` orders a list:
`--sort -created-at,name`. Yes and no are taken as they are printed.

A shell completes commands and options once its start-up file has the line for it:

| Shell | File | Line |
|---|---|---|
| Bash 4.4 or later | `~/.bashrc` | `eval "$(_OSTIARY_COMPLETE=bash_source ostiary)"` |
| Zsh | `~/.zshrc` | `eval "$(_OSTIARY_COMPLETE=zsh_source ostiary)"` |
| Fish | `~/.config/fish/completions/ostiary.fish` | `_OSTIARY_COMPLETE=fish_source ostiary \\| source` |"""


def _command_line() -> Iterator[str]:
    yield from _head("Command line", "`ostiary --help`")
    yield from _COMMAND_LINE.splitlines()
    command_line.load_all()
    yield from _command(command_line, "ostiary", None)


def _command(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    settings = {**command.context_settings, "max_content_width": 100, "terminal_width": 100}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield ""
    yield f"## {context.command_path}"
    yield ""
    yield "```text"
    yield command.get_help(context)
    yield "```"
    if isinstance(command, click.Group):
        for below, under in sorted(command.commands.items()):
            if not under.hidden:
                yield from _command(under, below, context)


# --- advisories


def _advisories() -> Iterator[str]:
    yield from _head("Published faults of other servers", "`tests/advisories/published.py`")
    yield "Each of them is shown to be absent here by a test. A section of an RFC stands where a fault has no"
    yield "identifier of its own."
    yield ""
    rows = []
    for identifier, fault in PUBLISHED.items():
        shown = (
            *(
                f"[`{name.removeprefix('test_')}`](../../tests/{file})"
                for file, name in proofs_of(identifier)
            ),
            *(f"[{table}: {name}](../rows.md)" for table, name in rows_of(identifier)),
        )
        rows.append(
            (f"[{identifier}]({_address_of(identifier)})", fault.product, fault.fault, "<br>".join(shown))
        )
    yield from _table(("Identifier", "Whose", "What", "Shown to be absent by"), rows)


def _address_of(identifier: str) -> str:
    """Where a published identifier leads.

    >>> _address_of("RFC 9700 §4.8"), _address_of("panva/oauth4webapi#54")
    ('https://www.rfc-editor.org/rfc/rfc9700#section-4.8', 'https://github.com/panva/oauth4webapi/issues/54')
    """
    if identifier.startswith("CVE-"):
        return f"https://www.cve.org/CVERecord?id={identifier}"
    if identifier.startswith("GHSA-"):
        return f"https://github.com/advisories/{identifier}"
    if identifier.startswith("RFC "):
        number, section = identifier.removeprefix("RFC ").split(" §")
        return f"https://www.rfc-editor.org/rfc/rfc{number}#section-{section}"
    repository, number = identifier.split("#")
    return f"https://github.com/{repository}/issues/{number}"
