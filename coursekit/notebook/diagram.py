"""Block diagrams: boxes on a grid, straight arrows between their edges, frames around them."""

import functools

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, FancyBboxPatch, Patch, Polygon

from coursekit.notebook.layout import LINE, PAD, Arrow, Box, Edges, Group, Layout, Point

COLORS = {"parameters": "#f5b667", "operation": "#c6e2f7", "data": "#ffffff"}
"""What is learnt, what is computed, and what goes through it: apart in grey, too."""
ROUTES = "|-|", "-|", "|-", "skip"
FONT, SMALL = 11, 10
WIDEST = 400
"""Points: on 360 pixels the small letters of a drawing so wide are nine high."""
INK = "0.3"


class Diagram:
    """Boxes, arrows and groups: named one after another, then drawn.

    Example:
        >>> d = Diagram()
        >>> d.box("X", 0, 1, kind="data")
        >>> d.box("linear", 0, 0, kind="parameters")
        >>> d.arrow("X", "linear", "B × 64")
        >>> ax = d.draw()
    """

    def __init__(self) -> None:
        self.boxes: dict[str, Box] = {}
        self.arrows: list[Arrow] = []
        self.groups: list[Group] = []

    def box(
        self,
        name: str,
        column: int,
        row: int,
        *,
        kind: str = "operation",
        columns: int = 1,
        rows: int = 1,
        text: str = "",
    ) -> None:
        """Put a box on the grid, whose row 0 is on top. An operation of one letter is a circle.

        Args:
            name: what arrows and groups call it; it stands in the box if there is no `text`.
            kind: "parameters", "operation" or "data"; gives the colour.
            columns, rows: how many places it takes, to the right and down.

        Raises:
            ValueError: if there is no such kind or place, or if name or place are taken.
        """
        if kind not in COLORS:
            raise ValueError(f"box {name!r} has no kind {kind!r}: there are {', '.join(COLORS)}")
        if name in self.boxes:
            raise ValueError(f"two boxes are called {name!r}: rename one and give it a `text`")
        if min(column, row, columns - 1, rows - 1) < 0:
            raise ValueError(f"box {name!r} is off the grid: columns and rows count from 0")
        across, down = range(column, column + columns), range(row, row + rows)
        for other, old in self.boxes.items():
            both = {*old.columns} & {*across}, {*old.rows} & {*down}
            if all(both):
                where = f"column {min(both[0])}, row {min(both[1])}"
                raise ValueError(f"{other!r} and {name!r} are both on {where}: move one")
        self.boxes[name] = Box(text or name, kind, across, down)

    def arrow(self, tail: str, head: str, shape: str = "", *, route: str = "|-|") -> None:
        """Lead from a box to another: straight where they face each other.

        Args:
            shape: what stands beside the arrow, such as "B × T × 64".
            route: how else it goes: "|-|" turns halfway up or down, "-|" leaves sideways, "|-"
                arrives sideways; "skip" goes around what is between, on the left.

        Raises:
            ValueError: if there is no such box or route, or if both ends are one box.
        """
        a, b = self._find(tail, head)
        if a is b or route not in ROUTES:
            raise ValueError(
                f"{tail!r} → {head!r} by {route!r}: name two boxes and one of {ROUTES}"
            )
        self.arrows.append(Arrow(a, b, shape, route))

    def group(self, title: str, *names: str) -> None:
        """Draw a frame with a title, such as "× 6", behind these boxes.

        Raises:
            ValueError: if there is no such box, or if none is named.
        """
        if not names:
            raise ValueError(f"group {title!r} is empty: name the boxes in it")
        self.groups.append(Group(title, self._find(*names)))

    def draw(self) -> Axes:
        """Draw it all as a figure of its own, with a key of the colours if there are several.

        Raises:
            ValueError: if there is nothing to draw, an arrow runs through a box, or the drawing is
                too wide to be read on a phone.
        """
        if not self.boxes:
            raise ValueError("nothing to draw: name a box first")
        kinds = [kind for kind in COLORS if any(b.kind == kind for b in self.boxes.values())]
        key = sum(text_size(kind)[0] + 3 * PAD for kind in kinds) if len(kinds) > 1 else 0.0
        grid = Layout([*self.boxes.values()], self.arrows, self.groups, text_size, least=key)
        lines = [grid.route(arrow) for arrow in self.arrows]
        canvas = plt.figure()
        canvas.set_layout_engine("none")  # at last, or the first of two savings brings it back
        ax = canvas.add_axes((0, 0, 1, 1))
        width, height = grid.width, grid.height
        for group in sorted(self.groups, key=lambda group: -len(group.members)):
            frame = grid.frame(group)
            _rectangle(ax, frame, 6.0, "0.96", "0.6")
            spot = frame[0] + PAD, frame[1] + PAD + 2
            ax.text(*spot, group.title, size=SMALL, va="center_baseline", weight="bold", color=INK)
        for arrow, line in zip(self.arrows, lines, strict=True):
            _arrow(ax, line)
            (x, y), level = grid.beside(arrow)
            beside = (x, y - 3, "center", "bottom") if level else (x + 5, y, "left", "center")
            if arrow.shape:
                _write(ax, *beside, arrow.shape)
        for b in self.boxes.values():
            _rectangle(ax, b.edges, 4.0, COLORS[b.kind], INK, is_round=b.is_round)
            ax.text(*b.middle, b.text, size=FONT, ha="center", va="center_baseline")
        x, y = PAD / 2, height + 4
        for kind in kinds if key else []:
            _rectangle(ax, (x, y, x + PAD, y + PAD), 2.0, COLORS[kind], INK)
            _write(ax, x + PAD + 4, y + PAD / 2, "left", "center_baseline", kind)
            x, height = x + text_size(kind)[0] + 3 * PAD, y + LINE
        if width > WIDEST:
            plt.close(canvas)
            raise ValueError(
                f"the drawing is {width:.0f} points wide, and a phone shows {WIDEST}: use fewer "
                "columns, or break long texts into lines"
            )
        canvas.set_size_inches(width / 72, height / 72)
        ax.set(xlim=(0, width), ylim=(height, 0))
        ax.axis("off")
        return ax

    def _find(self, *names: str) -> list[Box]:
        for name in names:
            if name not in self.boxes:
                raise ValueError(f"there is no box {name!r}: there are {', '.join(self.boxes)}")
        return [self.boxes[name] for name in names]


@functools.cache
def text_size(text: str) -> Point:
    """Return the width and height of a text in a box, in points."""
    pen = Figure(dpi=72)
    room = pen.text(0, 0, text, size=FONT).get_window_extent()
    return float(room.width), float(room.height)


def _rectangle(
    ax: Axes, edges: Edges, rounding: float, fill: str, ink: str, *, is_round: bool = False
) -> None:
    left, top, right, bottom = edges
    width, height = right - left, bottom - top
    style = f"round,pad=0,rounding_size={rounding}"
    patch: Patch = FancyBboxPatch((left, top), width, height, style)
    if is_round:
        patch = Ellipse((left + width / 2, top + height / 2), width, height)
    patch.set(facecolor=fill, edgecolor=ink, linewidth=1)
    ax.add_patch(patch)


def _arrow(ax: Axes, line: list[Point]) -> None:
    """Draw a line with a head."""
    (x, y), (x2, y2) = line[-2:]
    length = abs(x2 - x) + abs(y2 - y)
    along, up = (x2 - x) / length, (y2 - y) / length
    foot = x2 - 7 * along, y2 - 7 * up
    sides = [(foot[0] + side * up, foot[1] - side * along) for side in (3, -3)]
    ax.plot(*zip(*line[:-1], foot, strict=True), color=INK, linewidth=1.2, solid_joinstyle="miter")
    ax.add_patch(Polygon([(x2, y2), *sides], facecolor=INK, linewidth=0))


def _write(ax: Axes, x: float, y: float, ha: str, va: str, text: str) -> None:
    ax.text(x, y, text, size=SMALL, ha=ha, va=va, color=INK)
