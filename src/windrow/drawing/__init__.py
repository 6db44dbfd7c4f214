"""Pictures as SVG and HTML, in plain Python. What is drawn is found out elsewhere: nothing here knows queries."""

from windrow.drawing.picture import Picture
from windrow.drawing.scene import Bar, Dot, Lane, Panel

__all__ = ["Bar", "Dot", "Lane", "Panel", "Picture"]
