"""The code blocks of a Markdown page, and how each kind is run.

| fence | what is done |
|---|---|
| `pycon`, `python` with prompts | a doctest: what is printed must be what the page shows |
| `python` | run; what one block defines, the blocks after it on the page can use |
| `console` | each `$ command` is run, and what is shown below it compared (scripts on Spark: in tests/spark) |
| `sh` | not run (it would install things); make's targets and the package's extras must exist |
| `{.python}` | a file of the repository, shown on the site: it must exist |
| `text`, `toml`, none | no code |
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from markdown_it import MarkdownIt

from windrow.cli import main

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = ("python", "pycon")
NO_CODE = ("", "text", "toml")


@dataclass(frozen=True)
class Block:
    """One fence of a page."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """All fences of a page, in lists and the like, too."""
    tokens = MarkdownIt().parse(page.read_text())
    return [Block(page, t.map[0] + 1, t.info.strip(), t.content) for t in tokens if t.type == "fence" and t.map]


def script(path: Path) -> ModuleType:
    """A file that is in no package, as a module."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    return module


def on_spark(page: Path) -> bool:
    """Whether its code asks for a Spark."""
    return any("windrow.spark" in b.text or "pyspark" in b.text for b in blocks(page) if b.language in CODE)


def command_on_spark(block: Block) -> bool:
    """Whether a console block runs a script that asks for a Spark: tests/spark does that."""
    scripts = re.findall(r"^\$ python (\S+)", block.text, flags=re.MULTILINE)
    return block.language == "console" and any("windrow.spark" in (ROOT / name).read_text() for name in scripts)


def run(page: Path, names: dict[str, Any] | None = None, change: Any = str) -> int:
    """Runs a page from top to bottom; how many blocks there were. `change` may rewrite code before it runs."""
    names = {"__name__": "__main__", **(names or {})}
    found = blocks(page)
    for block in found:
        if block.language in CODE:
            (prompted if ">>> " in block.text else plain)(block, change(block.text), names)
        elif block.language == "console":
            if not command_on_spark(block):
                console(block)
        elif block.language == "sh":
            promised(block)
        elif block.language == "{.python}":
            file = re.fullmatch(r'--8<-- "(.+)"\n', block.text)
            assert file and (ROOT / file[1]).is_file(), block.where
        else:
            assert block.language in NO_CODE, f"{block.where}: nothing here runs {block.language!r} blocks"
    return len(found)


def prompted(block: Block, text: str, names: dict[str, Any]) -> None:
    """A block with prompts: what is printed is compared."""
    test = doctest.DocTestParser().get_doctest(text, names, block.where, str(block.page), block.line)
    assert test.examples, f"{block.where}: no prompts"
    said = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=said.write, clear_globs=False)
    names.update(test.globs)
    assert not runner.failures, said.getvalue()


def plain(block: Block, text: str, names: dict[str, Any]) -> None:
    """A block without prompts: it must run; what it prints is not compared."""
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile("\n" * block.line + text, str(block.page), "exec"), names)


def console(block: Block) -> None:
    """Commands, each with what it prints below it; nothing below it: it must only succeed."""
    parts = re.split(r"^\$ (.+)\n", block.text, flags=re.MULTILINE)
    assert len(parts) > 1 and not parts[0], f"{block.where}: a console block begins with `$ command`"
    for command, shown in zip(parts[1::2], parts[2::2], strict=True):
        code, printed = commanded(shlex.split(command, comments=True))
        assert code == 0, f"{block.where}: {command} ended with {code}"
        if shown.strip():
            assert stripped(printed) == stripped(shown), f"{block.where}: {command} printed\n{printed}"


def commanded(words: list[str]) -> tuple[int, str]:
    """Runs `windrow ...` or `python FILE` in this process: exit code and standard output."""
    said = io.StringIO()
    code = 0
    with contextlib.redirect_stdout(said):
        if words[0] == "windrow":
            code = main(words[1:])
        else:
            assert words[0] == "python" and len(words) == 2, f"no way to run {words}"
            with mock.patch.object(sys, "argv", words[1:]):  # not this run's own
                runpy.run_path(str(ROOT / words[1]), run_name="__main__")
    return code, said.getvalue()


def stripped(text: str) -> list[str]:
    """Lines without spaces at their ends, which editors remove."""
    return [line.rstrip() for line in text.strip().splitlines()]


def promised(block: Block) -> None:
    """`make` and `pip` are not run here; what they name must be there."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["make"]:
            subprocess.run(["make", "-n", *words[1:]], cwd=ROOT, check=True, capture_output=True)
            continue
        assert words[:2] == ["pip", "install"], f"{block.where}: {line}"
        for named in re.findall(r"[\w.]\[([\w,]+)\]", line):
            assert set(named.split(",")) <= set(extras), f"{block.where}: {line}"
