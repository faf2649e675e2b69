"""What is published: one wheel, no dependency unless asked for, and a lock file that holds anywhere."""

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from email.message import Message
from email.parser import Parser
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
ADDRESSES = re.compile(
    r"https?:|file:/|://|--(extra-)?index|find-links|trusted-host|/opt/|/root/|/home/", re.IGNORECASE
)

SERVER = ("server", "postgres", "traces")
"""The extras of what docs/deploy/Containerfile makes."""

IMPORT_ALL_OF_THE_CORE = """
import importlib, importlib.metadata, json, pkgutil, sys
import ostiary_core
names = [m.name for m in pkgutil.walk_packages(ostiary_core.__path__, "ostiary_core.")]
for name in names:
    importlib.import_module(name)
print(json.dumps({
    "modules": names,
    "file": ostiary_core.__file__,
    "installed": [d.name for d in importlib.metadata.distributions()],
    "loaded": sorted(m for m in sys.modules if m.startswith(("ostiary_net", "ostiary_web"))),
}))
"""

IMPORT_ALL_WITHOUT = """
import importlib, pkgutil, sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"{name} is not in the lock of a server", name=name)
absent = set(sys.argv[1:])
sys.meta_path.insert(0, Missing())
for package in ("ostiary_core", "ostiary_net", "ostiary_web"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        if module.name not in ("ostiary_web.asgi", "ostiary_web.__main__"):  # which begin to serve
            importlib.import_module(module.name)
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Standard output of `command`, run without this machine's pip settings and Python path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))}
    result = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=kept | {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command} failed:\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the sdist as a release builds it, with what is installed and no network."""
    target = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", target, ROOT)
    (built,) = target.glob("ostiary-*.whl")
    return built


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


@pytest.fixture(scope="module")
def project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def requirements(metadata: Message) -> list[Requirement]:
    return [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]


def locked(file: str = "requirements.lock") -> dict[str, str]:
    """The requirements of a lock file by name: logical lines with their hashes, comments left out."""
    text = (ROOT / file).read_text()
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    logical = [line for line in lines.replace("\\\n", " ").splitlines() if line.strip()]
    return {canonicalize_name(re.split(r"[=<>!~ ;\[]", line, maxsplit=1)[0]): line for line in logical}


def test_every_dependency_belongs_to_an_extra(metadata: Message) -> None:
    unconditional = [
        str(requirement)
        for requirement in requirements(metadata)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    ]
    assert unconditional == []


def test_the_wheel_holds_the_three_packages_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {
        "ostiary_core",
        "ostiary_net",
        "ostiary_web",
    }
    assert len(top) == 4
    for package in ("ostiary_core", "ostiary_net", "ostiary_web"):
        assert f"{package}/py.typed" in names


def test_the_page_of_the_interface_comes_whole_and_with_its_licence(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        files = {info.filename: info.file_size for info in archive.infolist()}
    for name in ("page.html", "start.js", "swagger-ui-bundle.js", "swagger-ui.css", "LICENSE", "NOTICE"):
        assert files[f"ostiary_web/api_document/assets/{name}"] > 0


def test_the_core_works_in_a_bare_environment(wheel: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    venv.create(bare, with_pip=False)
    python = bare / "bin" / "python"
    report = tmp_path / "report.json"
    # Dependencies are not switched off: without an index this succeeds only if there are none.
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--quiet", "--no-index", "--report", report, wheel)
    assert [item["metadata"]["name"] for item in json.loads(report.read_text())["install"]] == ["ostiary"]

    seen = json.loads(run(python, "-I", "-c", IMPORT_ALL_OF_THE_CORE, cwd=tmp_path))
    assert Path(seen["file"]).is_relative_to(bare)
    assert seen["installed"] == ["ostiary"]
    assert seen["loaded"] == []
    assert seen["modules"] != []

    said = subprocess.run([bare / "bin" / "ostiary"], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout, len(said.stderr.splitlines())) == (1, "", 1), said.stderr
    assert "pip install 'ostiary[server]'" in said.stderr


def test_the_lock_pins_and_hashes_every_requirement() -> None:
    sound = re.compile(r"[A-Za-z0-9._-]+==[^\s;]+ .*--hash=sha256:[0-9a-f]{64}( |$)")
    assert locked() != {}
    assert [line for line in locked().values() if not sound.match(line)] == []


def test_the_lock_of_a_server_is_a_part_of_it_with_all_that_a_server_needs(metadata: Message) -> None:
    whole, part = locked(), locked("requirements-server.lock")
    assert {name: line for name, line in whole.items() if name in part} == part, "run `make lock`"
    needed = {
        canonicalize_name(requirement.name)
        for requirement in requirements(metadata)
        if any(requirement.marker and requirement.marker.evaluate({"extra": extra}) for extra in SERVER)
    }
    assert needed <= set(part)
    assert not {"pytest", "mypy", "playwright", "hypothesis", "pip-tools"} & set(part)


def test_a_server_needs_nothing_that_is_not_in_its_lock() -> None:
    present = {"ostiary", *locked("requirements-server.lock")}
    absent = [
        module
        for module, names in packages_distributions().items()
        if present.isdisjoint(map(canonicalize_name, names))
    ]
    assert {"pytest", "hypothesis", "mypy", "sphinx", "playwright", "schemathesis"} <= set(absent)
    run(sys.executable, "-c", IMPORT_ALL_WITHOUT, *absent)


def test_the_lock_holds_what_pyproject_asks_for(metadata: Message, project: dict[str, object]) -> None:
    build_system = project["build-system"]
    assert isinstance(build_system, dict)
    # `editables` is what hatchling asks for on top, to install the checkout itself.
    build = [Requirement(line) for line in (*build_system["requires"], "editables")]
    lock = locked()
    unmet = []
    for requirement in (*requirements(metadata), *build):
        line = lock.get(canonicalize_name(requirement.name), "==0 ")
        version = line.split("==")[1].split()[0]
        if version == "0" or not requirement.specifier.contains(version, prereleases=True):
            unmet.append(str(requirement))
    assert unmet == [], "run `make lock`"


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-server.lock"])
def test_no_address_of_an_index_is_in_a_lock(file: str) -> None:
    found = [line for line in (ROOT / file).read_text().splitlines() if ADDRESSES.search(line)]
    assert found == []


def test_no_address_of_an_index_is_in_the_tool_settings(project: dict[str, object]) -> None:
    assert ADDRESSES.findall(json.dumps(project["tool"])) == []
