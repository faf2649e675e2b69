"""Writes what a server of a release consists of, as CycloneDX 1.6 (`make dist`).

python -m docs.bill_of_materials dist/ostiary-0.1.0-py3-none-any.whl > dist/ostiary-0.1.0.cdx.json

The same wheel and lock give the same bytes, so neither a serial number nor a time is in it. The hashes of the
packages are in the lock, one for each file of theirs that there is.
"""

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from hashlib import sha256
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

_LOCK: Final = Path("requirements-server.lock")
_RUN_BY: Final = "ostiary (pyproject.toml)"
_ASSETS: Final = "ostiary_web/api_document/assets/"
_BUNDLED: Final = {
    "swagger-ui-dist": ("swagger-ui-bundle.js", r'PACKAGE_VERSION:"([0-9.]+)"', "Apache-2.0"),
    "dompurify": (
        "swagger-ui-bundle.js.LICENSE.txt",
        r"@license DOMPurify ([0-9.]+)",
        "MPL-2.0 OR Apache-2.0",
    ),
}
"""Packages of npm whose files the wheel holds: where their version is read, and their licence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPackage:
    """A package of the lock, and the names of what asks for it (`ostiary (pyproject.toml)` is the server)."""

    name: str
    version: str
    asked_for_by: frozenset[str]

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def read_lock(text: str) -> list[LockedPackage]:
    """The packages of a lock file by pip-compile, in its order."""
    packages = []
    for block in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]:
        name, version = re.split(r"==|\s", block)[:2]
        _, _, via = block.partition("# via")
        packages.append(
            LockedPackage(
                name=name,
                version=version,
                asked_for_by=frozenset(line.strip(" #") for line in via.splitlines()) - {""},
            )
        )
    return packages


def bill_of_materials(wheel: Path, packages: list[LockedPackage]) -> dict[str, Any]:
    """The bill of `wheel` and of `packages`, which are installed here: they are asked for their licences."""
    with ZipFile(wheel) as archive:
        [path] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(path).decode())
        bundled = [_bundled(archive, name) for name in _BUNDLED]
    ours = f"pkg:pypi/{metadata['Name']}@{metadata['Version']}"
    needed = _needed(packages)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "component": {
                **_component("application", metadata["Name"], metadata["Version"], ours, _licences(metadata)),
                "description": metadata["Summary"],
                "hashes": [{"alg": "SHA-256", "content": sha256(wheel.read_bytes()).hexdigest()}],
                "components": bundled,
            },
        },
        "components": [
            {
                **_component("library", each.name, each.version, each.purl, _licences_installed(each)),
                # What only builds and installs is in the lock as well, and is never called by a server.
                "scope": "required" if each.name in needed else "excluded",
            }
            for each in packages
        ],
        "dependencies": [
            {
                "ref": ref,
                "dependsOn": sorted(each.purl for each in packages if asking in each.asked_for_by),
            }
            for asking, ref in [(_RUN_BY, ours), *((each.name, each.purl) for each in packages)]
        ],
    }


def _needed(packages: Iterable[LockedPackage]) -> set[str]:
    """The names of what the server asks for, and of all that is asked for by that."""
    needed, new = set[str](), {_RUN_BY}
    while new:
        new = {each.name for each in packages if each.asked_for_by & new} - needed
        needed |= new
    return needed


def _bundled(archive: ZipFile, name: str) -> dict[str, Any]:
    file, pattern, licence = _BUNDLED[name]
    match = re.search(pattern, archive.read(_ASSETS + file).decode())
    if match is None:
        raise SystemExit(f"{file} in the wheel does not say which version of {name} it has")
    return _component("library", name, match[1], f"pkg:npm/{name}@{match[1]}", [{"expression": licence}])


def _component(
    kind: str, name: str, version: str, purl: str, licences: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "type": kind,
        "bom-ref": purl,
        "name": name,
        "version": version,
        "licenses": licences,
        "purl": purl,
    }


def _licences_installed(package: LockedPackage) -> list[dict[str, Any]]:
    installed = distribution(package.name)
    if installed.version != package.version:
        raise SystemExit(
            f"{package.name} {installed.version} is installed, not {package.version}: make setup"
        )
    return _licences(Parser().parsestr(installed.read_text("METADATA") or "", headersonly=True))


def _licences(metadata: Message) -> list[dict[str, Any]]:
    """One expression of SPDX, where there is one, else the names that the package gives its licences."""
    written = [metadata[field] for field in ("License-Expression", "License") if metadata[field]]
    for text in written:
        try:
            return [{"expression": str(canonicalize_license_expression(text))}]
        except InvalidLicenseExpression:
            continue
    names = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier", [])
        if line.startswith("License ::")
    ]
    names = names or [text.splitlines()[0] for text in written]
    return [{"license": {"name": name}} for name in names]


if __name__ == "__main__":
    bill = bill_of_materials(Path(sys.argv[1]), read_lock(_LOCK.read_text()))
    sys.stdout.write(json.dumps(bill, indent=2, ensure_ascii=False) + "\n")
