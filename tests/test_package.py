"""The package as users get it: a wheel and an sdist that work without the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.docs.blocks import README, ROOT, blocks
from windrow.errors import how_to_install

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TOLD = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(path for name in ("src", "benchmarks", "examples") for path in (ROOT / name).rglob("*.py")),
]


def built(folder: Path) -> dict[str, Path]:
    """Builds sdist and wheel, the wheel from the sdist; by how their names end."""
    pinned = os.environ | {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, env=pinned, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.suffix: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return built(tmp_path_factory.mktemp("dist"))


def first_query() -> list[str]:
    """The README's first query as a program, and what it prints, line by line."""
    text = next(block.text for block in blocks(README) if block.language == "pycon")
    code = "".join(line[4:] + "\n" for line in text.splitlines() if line.startswith((">>> ", "... ")))
    printed = [line for line in text.splitlines() if not line.startswith((">>> ", "... ")) and line != "..."]
    return [code, "\n".join(printed)]


def test_nobody_is_told_to_install_another_project():
    """`windrow` on PyPI is not this package, and `pywindrow` is not published yet."""
    assert PROJECT["name"] == "pywindrow"
    wrong = [path for path in TOLD if re.search(r"pip install (--\S+ )*['\"]?(py)?windrow\b", path.read_text())]
    assert wrong == []


def test_the_extras_that_are_told_exist():
    extras = PROJECT["optional-dependencies"]
    named = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"how_to_install\(['\"](\w+)", path.read_text())
    }
    assert len(named) >= 5 and named <= set(extras)
    assert how_to_install("spark") == "pip install '.[spark]' in a checkout of windrow"
    inside = {
        extra for needed in extras.values() for one in needed for extra in re.findall(r"^\w*windrow\[(.+)\]", one)
    }
    assert inside and all(set(names.split(",")) <= set(extras) for names in inside)


@pytest.mark.slow
def test_what_is_in_the_packages(made):
    names = zipfile.ZipFile(made[".whl"]).namelist()
    assert made[".whl"].name.startswith("pywindrow-")
    assert {"windrow/__init__.py", "windrow/py.typed", "windrow/cli/__init__.py"} <= set(names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"windrow", "pywindrow"}
    with tarfile.open(made[".gz"]) as file:
        source = {name.partition("/")[2] for name in file.getnames()}
    assert {"README.md", "LICENSE", "constraints.txt", "Makefile", "tests/test_package.py"} <= source


@pytest.mark.slow
def test_the_readme_in_an_empty_environment(made, tmp_path):
    """Only the wheel and pandas, which the example uses. The folder is empty: nothing of the checkout is there."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", made[".whl"], "pandas"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(pip, env=clean | {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}, check=True)
    code, expected = first_query()
    ran = subprocess.run([python, "-c", code], cwd=tmp_path, env=clean, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [line.rstrip() for line in ran.stdout.splitlines()] == [line.rstrip() for line in expected.splitlines()]
    command = [python.with_name("windrow"), "--version"]
    assert subprocess.run(command, env=clean, capture_output=True).returncode == 2  # the extra cli is not there
