"""Panels of lanes as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windrow.drawing.markup import Markup, tag
from windrow.drawing.scene import Bar, Dot, Lane, Panel, short
from windrow.drawing.style import sheet

WIDTH, LEAST = 860.0, 420.0
#: pixels: a character, the line of dots, a bar, the axis, a note, and around all of it
LETTER, DOTS, BAR, AXIS, NOTE, PAD = 7.3, 40.0, 22.0, 42.0, 18.0, 14.0
#: where windows reach so many times as far as rows, only what is near the rows is drawn
FAR = 8.0


def drawn(panels: Sequence[Panel], title: str, notes: Sequence[str], theme: str | None) -> str:
    """The whole picture; without a theme it has no style sheet of its own."""
    columns = _columns(panels)
    left = max([_wide(label) for panel in panels for label in _labels(panel)], default=0.0)
    left = PAD + (left + 14.0 if left else 10.0)
    right = sum(width for _, width in columns) + PAD + 10.0
    width = max(WIDTH, left + LEAST + right)
    parts: list[Markup] = []
    y = PAD
    for panel in panels:
        frame = _Frame(panel, left, width - right, columns)
        parts += frame.parts(y)
        y += frame.height
    for note in notes:
        y += NOTE
        parts.append(tag("text", note, x=PAD, y=y - 8.0, class_="soft"))
    height = y + PAD / 2
    style = [] if theme is None else [tag("style", Markup(sheet(theme)))]
    return tag(
        "svg", *style, tag("title", title), tag("rect", width=width, height=height, class_="paper", rx=6), *parts,
        xmlns="http://www.w3.org/2000/svg", class_="windrow", role="img", width=width, height=height,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
    )  # fmt: skip


def _labels(panel: Panel) -> Iterator[str]:
    """What stands left of the plot."""
    yield panel.dots
    for lane in panel.lanes:
        yield lane.title
        yield from lane.groups
        yield from (bar.label for bars in lane.groups.values() for bar in bars)


def _columns(panels: Sequence[Panel]) -> list[tuple[str, float]]:
    """The answers' names, and how wide each column is, over all panels."""
    names = panels[0].columns if panels else ()
    found = []
    for i, name in enumerate(names):
        cells = [bar.answers[i] for panel in panels for lane in panel.lanes for bars in lane.groups.values()
                 for bar in bars if i < len(bar.answers)]  # fmt: skip
        found.append((name, max(map(_wide, [name, *cells])) + 16.0))
    return found


def _wide(text: str) -> float:
    return len(short(text)) * LETTER


@dataclass
class _Frame:
    """One panel between two edges."""

    panel: Panel
    left: float
    right: float
    columns: list[tuple[str, float]]

    def __post_init__(self) -> None:
        self.low, self.high = extent(self.panel)

    @property
    def height(self) -> float:
        return sum(map(self._lane_height, self.panel.lanes)) + AXIS

    def _lane_height(self, lane: Lane) -> float:
        return (DOTS if lane.dots else BAR) + BAR * sum(map(len, lane.groups.values())) + 6.0

    def x(self, place: float) -> float:
        inner = self.left + 12.0, self.right - 12.0
        return inner[0] + (place - self.low) / (self.high - self.low) * (inner[1] - inner[0])

    def parts(self, y: float) -> Iterator[Markup]:
        top = y
        for number, lane in enumerate(self.panel.lanes):
            yield from self._lane(lane, y, number == 0)
            y += self._lane_height(lane)
        yield from self._axis(y)
        if self.panel.mark is not None and self.low <= self.panel.mark <= self.high:
            at = self.x(self.panel.mark)
            yield tag("line", x1=at, x2=at, y1=top, y2=y, class_="mark")
            yield tag("text", self.panel.marked, x=at - 5.0, y=top + 10.0, text_anchor="end", class_="marked")

    def _lane(self, lane: Lane, y: float, first: bool) -> Iterator[Markup]:
        line = y + (DOTS if lane.dots else BAR) - 12.0
        bottom = y + self._lane_height(lane) - 8.0
        for place in sorted({dot.place for dot in lane.dots if self.low <= dot.place <= self.high}):
            at = self.x(place)
            yield tag("line", x1=at, x2=at, y1=line, y2=bottom, class_="grid")
        yield self._title(lane.title or self.panel.dots, line, "head" if lane.title else None)
        yield from self._dots(lane.dots, line)
        if first:
            yield from self._cells([name for name, _ in self.columns], line, "head")
        y = line + 12.0
        for name, bars in lane.groups.items():
            yield self._title(name, y + BAR / 2, None)
            for bar in bars:
                yield self._bar(bar, y)
                y += BAR

    def _title(self, label: str, y: float, class_: str | None) -> Markup:
        if not label:
            return Markup()
        whole = [tag("title", label)] if short(label) != label else []
        return tag("text", short(label), *whole, x=PAD, y=y + 4.0, class_=class_)

    def _dots(self, dots: Sequence[Dot], y: float) -> Iterator[Markup]:
        free = float("-inf")
        for dot in sorted(dots, key=lambda dot: dot.place):
            if not self.low <= dot.place <= self.high:
                continue
            at = self.x(dot.place)
            yield tag("circle", tag("title", dot.told), cx=at, cy=y, r=3.6, class_="row")
            half = _wide(dot.label) / 2
            if dot.label and at - half >= free:
                yield tag("text", short(dot.label), x=at, y=y - 10.0, text_anchor="middle")
                free = at + half + 3.0

    def _bar(self, bar: Bar, y: float) -> Markup:
        """A window. One that goes on beyond the picture has an arrow there instead of a bracket."""
        start, end = self.x(max(bar.start, self.low)), self.x(min(bar.end, self.high))
        middle = y + BAR / 2
        edges = (
            bar.edges[0] if bar.start >= self.low else "‹",
            bar.edges[1] if bar.end <= self.high else "›",
        )
        return tag(
            "g",
            tag("title", bar.told),
            self._title(bar.label, middle, None),
            tag("rect", x=start, y=y + 3.0, width=max(end - start, 1.5), height=BAR - 6.0, rx=2, class_="bar"),
            tag("text", edges[0], x=start - 4.0, y=middle + 4.5, text_anchor="end", class_="edge"),
            tag("text", edges[1], x=end + 4.0, y=middle + 4.5, class_="edge"),
            *(
                tag("circle", cx=self.x(place), cy=middle, r=3.2, class_="held")
                for place in dict.fromkeys(bar.rows)
                if self.low <= place <= self.high
            ),
            *self._cells(bar.answers, middle, None),
        )

    def _cells(self, cells: Sequence[str], y: float, class_: str | None) -> Iterator[Markup]:
        at = self.right + 10.0
        for cell, (_, width) in zip(cells, self.columns, strict=False):
            yield tag("text", short(cell), x=at, y=y + 4.5, class_=class_)
            at += width

    def _axis(self, y: float) -> Iterator[Markup]:
        yield tag("line", x1=self.left, x2=self.right, y1=y, y2=y, class_="axis")
        for place, label, second in self.panel.axis.ticks(self.low, self.high):
            at = self.x(place)
            yield tag("line", x1=at, x2=at, y1=y, y2=y + 4.0, class_="axis")
            yield tag("text", label, x=at, y=y + 17.0, text_anchor="middle", class_="soft")
            if second:
                yield tag("text", second, x=at, y=y + 32.0, text_anchor="middle", class_="soft")
        if self.panel.axis.name:
            yield tag("text", self.panel.axis.name, x=self.right, y=y + 32.0, text_anchor="end", class_="soft")


def extent(panel: Panel) -> tuple[float, float]:
    """From where to where a panel is drawn: all of it, or what is near the rows where windows go far beyond."""
    bars = [bar for lane in panel.lanes for group in lane.groups.values() for bar in group]
    places = [dot.place for lane in panel.lanes for dot in lane.dots]
    ends = [*places, *(bar.start for bar in bars), *(bar.end for bar in bars)]
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    if places and max(places) > min(places):
        room = max(places) - min(places)
        if high - low > FAR * room:
            low, high = max(low, min(places) - 1.5 * room), min(high, max(places) + 1.5 * room)
    if panel.mark is not None and high < panel.mark <= 2 * high - low:
        high = panel.mark
    return (low, high) if high > low else (low - 1.0, high + 1.0)
