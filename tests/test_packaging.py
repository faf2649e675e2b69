"""The published package: one wheel, no dependency unless asked for, and a lock file that holds anywhere."""

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from email.parser import Parser
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.processes import Process

ROOT = Path(__file__).resolve().parent.parent
ADDRESSES = re.compile(
    r"https?:|file:/|://|--(extra-)?index|find-links|trusted-host|/opt/|/root/|/home/", re.IGNORECASE
)

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


OF_NO_PYTHON = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
"""The environment without what this run says to its own Python."""

PATIENCE_SECONDS = 60


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a command without this machine's pip settings and Python path; return its standard output."""
    kept = {name: value for name, value in OF_NO_PYTHON.items() if not name.startswith(("PIP_", "MAKE"))}
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


def read_lock(file: str = "requirements.lock") -> dict[str, str]:
    """Return the requirements of a lock file by name: logical lines with their hashes, without comments."""
    text = (ROOT / file).read_text()
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    logical = [line for line in lines.replace("\\\n", " ").splitlines() if line.strip()]
    return {canonicalize_name(re.split(r"[=<>!~ ;\[]", line, maxsplit=1)[0]): line for line in logical}


def test_the_wheel_holds_every_file_of_the_three_packages_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        files = {info.filename: info.file_size for info in archive.infolist()}
    [about] = {name.split("/")[0] for name in files if ".dist-info/" in name}
    there = {
        path.relative_to(package.parent).as_posix()
        for package in (ROOT / "core/ostiary_core", ROOT / "net/ostiary_net", ROOT / "web/ostiary_web")
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in files if not name.startswith(about)} == there
    assert {f"{package}/py.typed" for package in ("ostiary_core", "ostiary_net", "ostiary_web")} <= there
    docs = "ostiary_web/api_document/assets"
    for name in (f"{docs}/swagger-ui-bundle.js", f"{docs}/swagger-ui.css", "ostiary_web/static/ostiary.css"):
        assert files[name] > 0
    for name in ("LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"):
        assert files[f"{about}/licenses/web/{docs}/{name}"] == files[f"{docs}/{name}"] > 0
    assert files[f"{about}/licenses/LICENSE"] > 0


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a release is made of a commit")
def test_a_release_is_the_same_bytes_in_every_checkout(tmp_path: Path) -> None:
    built = []
    for name, mask in (("one", 0o022), ("another", 0o077)):
        checkout = tmp_path / name / "checkout"
        mask = os.umask(mask)
        try:
            run("git", "clone", "--quiet", "--no-hardlinks", ROOT, checkout, cwd=tmp_path)
            (checkout / "core" / "ostiary_core" / f"left_{name}.py").write_text("")
            # The build takes the packages of this environment, and installs none anew.
            run("make", "dist", f"VENV={sys.prefix}", "-o", f"{sys.prefix}/.installed", cwd=checkout)
        finally:
            os.umask(mask)
        built.append({path.name: path.read_bytes() for path in (checkout / "dist").iterdir()})
    assert [re.sub(r"[0-9]+\.[0-9]+\.[0-9]+", "N", name) for name in sorted(built[0])] == [
        "ostiary-N-py3-none-any.whl",
        "ostiary-N.cdx.json",
        "ostiary-N.tar.gz",
    ]
    assert built[0] == built[1]


def test_the_bill_of_materials_has_the_lock_and_what_the_wheel_brings(wheel: Path) -> None:
    said = run(sys.executable, "-m", "docs.bill_of_materials", wheel)
    assert not ADDRESSES.search(said.replace("http://cyclonedx.org/schema/", ""))
    bill: dict[str, Any] = json.loads(said)
    packages = {each["name"]: each for each in bill["components"]}
    assert {name: f"{name}=={each['version']}" for name, each in packages.items()} == {
        name: line.split()[0] for name, line in read_lock("requirements-server.lock").items()
    }
    whole = bill["metadata"]["component"]
    assert [each["purl"].split("@")[0] for each in whole["components"]] == [
        "pkg:npm/swagger-ui-dist",
        "pkg:npm/dompurify",
    ]
    assert [each["name"] for each in (whole, *packages.values()) if not each["licenses"]] == []
    asks = {each["ref"]: set(each["dependsOn"]) for each in bill["dependencies"]}
    assert set(asks) == {whole["bom-ref"], *(each["bom-ref"] for each in packages.values())}
    assert packages["trio"]["bom-ref"] in asks[whole["bom-ref"]]
    assert packages["markupsafe"]["bom-ref"] in asks[packages["jinja2"]["bom-ref"]]
    assert packages["markupsafe"]["scope"] == "required"
    assert packages["hatchling"]["scope"] == packages["pathspec"]["scope"] == "excluded"


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
    assert (seen["installed"], seen["loaded"]) == (["ostiary"], [])
    assert seen["modules"] != []

    said = subprocess.run([bare / "bin" / "ostiary"], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout, len(said.stderr.splitlines())) == (1, "", 1), said.stderr
    assert "install the extra `server`" in said.stderr


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the lock of a server and the wheel in it, and nothing else."""
    place = tmp_path_factory.mktemp("installed") / "ostiary"
    venv.create(place, with_pip=False)
    install = ("install", "--quiet", "--no-compile")  # most of it is never imported
    pip = (sys.executable, "-m", "pip", "--python", place / "bin" / "python", *install)
    fetched = subprocess.run(
        [*pip, "--require-hashes", "-r", ROOT / "requirements-server.lock"],
        env=OF_NO_PYTHON,
        capture_output=True,
        text=True,
        check=False,
    )
    if fetched.returncode != 0:
        if "packages" in os.environ.get("OSTIARY_TEST_REQUIRE", ""):
            pytest.fail(fetched.stderr)
        pytest.skip("what requirements-server.lock names cannot be had here")
    run(*pip, "--no-index", "--no-deps", wheel)
    return place / "bin"


@contextmanager
def start_program(folder: Path, *command: str | Path) -> Iterator[list[str]]:
    """Run a command in a folder; yield the addresses in the first line that it prints."""
    environment = OF_NO_PYTHON | {"BIND": "127.0.0.1:0"}
    with Process(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        yield re.findall(r"http://[0-9.:]+", process.out.readline())
        process.stop()


def test_the_wheel_serves_from_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    ostiary = installed / "ostiary"
    with start_program(tmp_path, ostiary, "serve") as [address]:
        with httpx.Client(base_url=address, timeout=PATIENCE_SECONDS) as caller:
            [style] = re.findall(r'<link rel="stylesheet" href="([^"]+)"', caller.get("/login").text)
            assert caller.get(style).headers["Content-Type"].startswith("text/css")
            new = run(
                ostiary, "client", "create", "app", "--grant", "client_credentials", "--json", cwd=tmp_path
            )
            answer = caller.post(
                "/api/oauth2/token",
                data={"grant_type": "client_credentials"},
                auth=("app", json.loads(new)["secret"]),
            )
            assert answer.status_code == 200, answer.text
        run(ostiary, "check", cwd=tmp_path)


def test_the_lock_of_a_server_is_a_part_of_the_whole_and_has_no_tool() -> None:
    whole, part = read_lock(), read_lock("requirements-server.lock")
    assert {name: line for name, line in whole.items() if name in part} == part, "run `make lock`"
    assert not {"pytest", "mypy", "playwright", "hypothesis", "pip-tools"} & set(part)


def test_a_server_needs_nothing_that_is_not_in_its_lock() -> None:
    present = {"ostiary", *read_lock("requirements-server.lock")}
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
    lock = read_lock()
    unmet = []
    for requirement in (*requirements(metadata), *build):
        line = lock.get(canonicalize_name(requirement.name), "==0 ")
        version = line.split("==")[1].split()[0]
        if version == "0" or not requirement.specifier.contains(version, prereleases=True):
            unmet.append(str(requirement))
    assert unmet == [], "run `make lock`"


def test_no_address_of_an_index_is_in_a_lock_or_in_the_tool_settings(project: dict[str, object]) -> None:
    for file in ("requirements.lock", "requirements-server.lock"):
        assert [line for line in (ROOT / file).read_text().splitlines() if ADDRESSES.search(line)] == []
    assert ADDRESSES.findall(json.dumps(project["tool"])) == []
