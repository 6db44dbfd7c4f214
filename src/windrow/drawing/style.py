"""The colours of pictures: light, dark, or as the reader's own screen is."""

from __future__ import annotations

from windrow.errors import WindrowError

THEMES = ("auto", "light", "dark")
LIGHT = {
    "paper": "#ffffff", "ink": "#1f2a33", "soft": "#66737f", "grid": "#d5dde4", "bar": "#cfe3f1", "held": "#1f6f9f",
    "mark": "#b4550f",
}  # fmt: skip
DARK = {
    "paper": "#161b20", "ink": "#e4e9ed", "soft": "#94a2ae", "grid": "#38434c", "bar": "#234a64", "held": "#7cc7f5",
    "mark": "#f0a35e",
}  # fmt: skip
RULES = """\
.windrow{max-width:100%;height:auto;font:13px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
.windrow text{fill:var(--ink)}
.windrow .paper{fill:var(--paper)}
.windrow .soft{fill:var(--soft);font-size:12px}
.windrow .head{font-weight:600}
.windrow .edge{font-weight:700}
.windrow .bar{fill:var(--bar)}
.windrow .held{fill:var(--held)}
.windrow .row{fill:var(--ink)}
.windrow .grid{stroke:var(--grid);stroke-dasharray:1 3}
.windrow .axis{stroke:var(--soft)}
.windrow .mark{stroke:var(--mark);stroke-width:1.5}
.windrow .marked{fill:var(--mark);font-size:12px}
"""


def sheet(theme: str = "auto") -> str:
    """The style sheet of pictures."""
    if theme not in THEMES:
        raise WindrowError(f"theme is {', '.join(THEMES[:-1])} or {THEMES[-1]}, not {theme!r}")
    if theme != "auto":
        return _colours(DARK if theme == "dark" else LIGHT) + RULES
    return f"{_colours(LIGHT)}@media(prefers-color-scheme:dark){{{_colours(DARK)}}}\n{RULES}"


def _colours(colours: dict[str, str]) -> str:
    return ".windrow{" + ";".join(f"--{name}:{value}" for name, value in colours.items()) + "}"
