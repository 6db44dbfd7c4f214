"""docs/command_line.md: its query runs as it says, its tables name what there is, its commands exist."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from windrow import win
from windrow.cli.query_file import _KEYS, TYPES, QueryFile

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_example(said, place):
    calls, results = blocks("text")
    Path("calls.csv").write_text(calls)
    Path("query.toml").write_text(blocks("toml")[0])
    [command] = re.findall(r"^\$ windrow (.*)\n(.*), [\d.]+ seconds: longest$", PAGE, re.MULTILINE)
    code, out, err = said(*command[0].split())
    assert (code, err) == (0, "")
    assert out.startswith(command[1])
    assert Path("longest/part-00000.csv").read_text() == results


def test_the_other_queries(said, place):
    policy, code = blocks("toml")[1:]
    Path("a.toml").write_text(f'{policy}\n[aggregates]\nn = "count()"\n')
    QueryFile(Path("a.toml"))
    Path("boxes.py").write_text(
        "import windrow\nvwap = windrow.Aggregate(lambda p, v: (p * v, v), lambda a, b: (a[0] + b[0], a[1] + b[1]),"
        " identity=(0.0, 0.0))\nclass UntilFull:\n    def discretize(self, row):\n        return 1, 1\n"
    )
    Path("b.toml").write_text(code)
    assert said("explain", "b.toml")[0] == 2
    assert said("explain", "b.toml", "--allow-code")[0] == 0


def test_the_message(said, place):
    [message] = re.findall(r"`(query\.toml:\d+: [^`]*)`", PAGE)
    Path("query.toml").write_text(blocks("toml")[0].replace("max(len)", "maxx(len)"))
    assert said("explain", "query.toml")[2] == f"windrow: {message}\n"


@pytest.mark.parametrize("kind", win.__all__)
def test_every_window_is_listed(kind):
    row = next(line for line in PAGE.splitlines() if line.startswith(f'| `"{kind}"`'))
    for name in inspect.signature(getattr(win, kind)).parameters:
        assert f"`{'class' if name == 'discretize' else name}`" in row


def test_every_key_and_type_is_listed():
    for key in _KEYS:
        assert re.search(rf"^\| .*(`|\[){key}(`|\]|\.)", PAGE, re.MULTILINE), key
    assert all(kind in PAGE for kind in TYPES)


def test_every_option_is_listed(said):
    for command in ("run", "explain", "algorithms"):
        for option in re.findall(r"--[a-z-]+", said(command, "--help")[1]):
            assert option == "--help" or option in PAGE, option
