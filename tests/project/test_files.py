"""What holds for the files of the project as a whole."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest
from project.sources import ROOT, project_files

LONGEST_MODULE = 800
"""Lines above which a module is two modules."""

MACHINE_PATH = re.compile(r"(?<![\w.*}])/(?:work|root|home|Users|tmp)/\w")
"""A path that exists on somebody's machine alone."""

REGISTRY = re.compile(
    r"pypi\.(?:org|python)|pythonhosted\.|registry\.npmjs|(?:deb|security)\.debian\.org|--(?:extra-)?index-url"
)
"""A package registry's host, or an option that names one: where packages come from is the machine's own business."""

COMMAND = re.compile(r"^(?:make|usd-sim) .+$", re.MULTILINE)


def _text(path) -> str:
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode("utf-8")


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in project_files()
        for number, line in enumerate(_text(path).splitlines(), 1)
        if pattern.search(line)
    ]


def _readme_commands() -> list[list[str]]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:sh|bash)?\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    return [line.split("#")[0].split() for block in blocks for line in COMMAND.findall(block)]


def test_no_file_names_a_path_of_one_machine():
    assert _lines_with(MACHINE_PATH) == []


def test_no_file_names_a_package_registry():
    assert _lines_with(REGISTRY) == []


def test_modules_stay_readable():
    sizes = {path.relative_to(ROOT): len(_text(path).splitlines()) for path in project_files() if path.suffix == ".py"}
    assert {path: size for path, size in sizes.items() if size > LONGEST_MODULE} == {}


def test_changelog_has_a_section_for_what_is_coming():
    assert re.search(r"^## Unreleased$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_readme_gives_the_two_commands():
    assert [words for words in _readme_commands() if words[0] == "make"][:2] == [["make", "bake"], ["make", "test"]]


def test_make_knows_the_commands_of_the_readme():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {words[1] for words in _readme_commands() if words[0] == "make"}
    assert {target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)} == set()


def test_the_command_line_knows_the_commands_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = {words[1] for words in _readme_commands() if words[0] == "usd-sim"}
    commands |= set(re.findall(r"^\| `(\w+)[^|]*\|(?! not yet)", readme, re.MULTILINE))
    assert commands
    script = "import sys; from usd_sim.cli.main import main; sys.argv = ['usd-sim', '--help']; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {command for command in commands if not re.search(rf"\b{command}\b", done.stdout)} == set()


@pytest.mark.parametrize("document", ["README.md", "CHANGELOG.md", *sorted(p.name for p in ROOT.glob("docs/*.md"))])
def test_links_lead_somewhere(document: str):
    path = ROOT / document if (ROOT / document).exists() else ROOT / "docs" / document
    links = re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (path.parent / link).exists()] == []


def test_version_is_stated_once():
    import usd_sim

    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert getattr(usd_sim, "__version__", stated) == stated
