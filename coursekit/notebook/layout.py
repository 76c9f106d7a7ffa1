"""Where the boxes of a diagram stand and how its arrows go: numbers only, in points (1/72 inch)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

PAD, GAP, LINE, ROUND = 9.0, 28.0, 17.0, 26.0
Point = tuple[float, float]
Edges = tuple[float, float, float, float]  # left, top, right, bottom: down is positive


@dataclass(eq=False)
class Box:
    """A box: which columns and rows of the grid it takes; once it is placed, its edges.

    An operation of one letter is a circle. `lane` is where an arrow may pass on the left.
    """

    text: str
    kind: str
    columns: range
    rows: range
    edges: Edges = (0.0, 0.0, 0.0, 0.0)
    lane: float = 0.0

    @property
    def is_round(self) -> bool:
        """Tell whether it is a circle."""
        return len(self.text) == 1 and self.kind == "operation"

    @property
    def middle(self) -> Point:
        """Return where its text stands."""
        return (self.edges[0] + self.edges[2]) / 2, (self.edges[1] + self.edges[3]) / 2


@dataclass(eq=False)
class Arrow:
    """An arrow between two boxes, what stands beside it, and how it goes."""

    tail: Box
    head: Box
    shape: str
    route: str


@dataclass(eq=False)
class Group:
    """Boxes that a frame holds together."""

    title: str
    members: list[Box]


@dataclass
class Layout:
    """All that is to be drawn, with its width and height.

    Args:
        size: tells the width and height of a text.
        least: how wide the drawing is at least.
    """

    boxes: Sequence[Box]
    arrows: Sequence[Arrow]
    groups: Sequence[Group]
    size: Callable[[str], Point]
    least: float = 0.0
    width: float = field(init=False)
    height: float = field(init=False)

    def __post_init__(self) -> None:
        """Give each box its edges: columns and rows are as large as what is in them."""
        n, m = max(b.columns.stop for b in self.boxes), max(b.rows.stop for b in self.boxes)
        across = [PAD / 2, *[2 * PAD] * (n - 1), PAD / 2]  # the gap before each column, and after
        down = [PAD / 2, *[GAP] * (m - 1), PAD / 2]
        for arrow in self.arrows:
            first, last = sorted(b.columns.start for b in (arrow.tail, arrow.head))
            if arrow.route == "skip":
                across[first] = max(across[first], 3 * PAD)
            elif {*arrow.tail.rows} & {*arrow.head.rows}:  # a level arrow, with its shape on it
                across[last] = max(across[last], self.size(arrow.shape)[0] + 3 * PAD)
        for group in self.groups:
            across[min(b.columns.start for b in group.members)] += PAD
            across[max(b.columns.stop for b in group.members)] += PAD
            down[min(b.rows.start for b in group.members)] += PAD + LINE
            down[max(b.rows.stop for b in group.members)] += PAD
        wide, high = [0.0] * n, [0.0] * m
        for b in sorted(self.boxes, key=lambda box: len(box.columns) * len(box.rows)):
            width, height = self.size(b.text)
            _grow(wide, across, b.columns, max(width + 2 * PAD, 6 * PAD))
            _grow(high, down, b.rows, height + 1.5 * PAD)
        for arrow in self.arrows:  # what stands beside an upright arrow needs room on its right
            narrow = min(arrow.tail, arrow.head, key=lambda box: len(box.columns))
            room, is_last = self.size(arrow.shape)[0] + PAD, narrow.columns.stop == n
            upright = {*arrow.tail.columns} & {*arrow.head.columns} and arrow.route != "skip"
            if arrow.shape and upright:
                needed = 2 * room if is_last else room - across[narrow.columns.stop]
                _grow(wide, across, narrow.columns, needed)
        _grow(wide, across, range(n), self.least - across[0] - across[-1])
        for b in self.boxes:
            left, right = _ends(wide, across, b.columns)
            top, bottom = _ends(high, down, b.rows)
            b.lane = left - 1.7 * PAD
            if b.is_round:
                left, right = (left + right - ROUND) / 2, (left + right + ROUND) / 2
                top, bottom = (top + bottom - ROUND) / 2, (top + bottom + ROUND) / 2
            b.edges = left, top, right, bottom
        self.width, self.height = sum(across + wide), sum(down + high)

    def frame(self, group: Group) -> Edges:
        """Return the edges of a frame around its boxes, the skips into them and smaller frames."""
        inside = [b.edges for b in group.members]
        for other in self.groups:
            if len(other.members) < len(group.members) and {*other.members} < {*group.members}:
                inside.append(self.frame(other))
        for arrow in self.arrows:
            if arrow.route == "skip" and arrow.head in group.members:
                inside.append((self.route(arrow)[2][0], *arrow.head.edges[1:]))
        left, top, right, bottom = zip(*inside, strict=True)
        return min(left) - PAD, min(top) - PAD - LINE, max(right) + PAD, max(bottom) + PAD

    def route(self, arrow: Arrow) -> list[Point]:
        """Return the points where an arrow starts, turns and ends.

        Raises:
            ValueError: if it runs through a box.
        """
        line = _corners(arrow)
        for b in self.boxes:
            through = any(_crosses(b.edges, *ends) for ends in pairwise(line))
            if through and b is not arrow.tail and b is not arrow.head:
                raise ValueError(
                    f"the arrow from {arrow.tail.text!r} to {arrow.head.text!r} runs through "
                    f"{b.text!r}: move a box, or choose another route"
                )
        return line

    def beside(self, arrow: Arrow) -> tuple[Point, bool]:
        """Return where the shape of an arrow stands, and whether above a level part of it."""
        line = self.route(arrow)
        (x, y), (x2, y2) = line[-2:] if arrow.route in ("skip", "|-") else line[:2]
        if arrow.route == "|-|" and len(line) > 2:
            (x, y), (x2, y2) = line[1:3]
        if y == y2:
            return ((x + x2) / 2, y), True
        borders = [edge for group in self.groups for edge in self.frame(group)[1::2]]
        stops = sorted([y, y2, *(edge for edge in borders if min(y, y2) < edge < max(y, y2))])
        y, y2 = max(pairwise(stops), key=lambda part: part[1] - part[0])  # between the borders
        return (x, (y + y2) / 2), False


def _grow(sizes: list[float], gaps: list[float], span: range, needed: float) -> None:
    """Make columns or rows together as large as needed, all by the same."""
    missing = needed - sum(sizes[i] for i in span) - sum(gaps[i] for i in span[1:])
    for i in span:
        sizes[i] += max(missing, 0.0) / len(span)


def _ends(sizes: list[float], gaps: list[float], span: range) -> Point:
    """Return where the first of some columns or rows begins and the last one ends."""
    start, stop = span.start, span.stop
    return sum(gaps[: start + 1] + sizes[:start]), sum(gaps[:stop] + sizes[:stop])


def _corners(arrow: Arrow) -> list[Point]:
    a, b = arrow.tail.edges, arrow.head.edges
    (x, y), (x2, y2) = arrow.tail.middle, arrow.head.middle
    start, end = (a[1], b[3]) if y2 < y else (a[3], b[1])  # upwards, downwards
    out, into = (a[0], b[2]) if x2 < x else (a[2], b[0])  # to the left, to the right
    if arrow.route == "skip":
        lane, branch = min(arrow.tail.lane, arrow.head.lane), start + (PAD if y2 > y else -PAD)
        return [(x, start), (x, branch), (lane, branch), (lane, y2), (b[0], y2)]
    if (both := _shared(a[0], a[2], b[0], b[2])) is not None:
        return [(both, start), (both, end)]
    if (both := _shared(a[1], a[3], b[1], b[3])) is not None:
        return [(out, both), (into, both)]
    if arrow.route == "-|":
        return [(out, y), (x2, y), (x2, end)]
    if arrow.route == "|-":
        return [(x, start), (x, y2), (into, y2)]
    turn = start + (GAP if y2 > y else -GAP) / 2
    return [(x, start), (x, turn), (x2, turn), (x2, end)]


def _shared(low: float, high: float, low2: float, high2: float) -> float | None:
    """Return where two edges face each other: at the middle of the shorter one, if they do."""
    least, most = max(low, low2), min(high, high2)
    middle = (low + high) / 2 if high - low < high2 - low2 else (low2 + high2) / 2
    if least >= most:
        return None
    return middle if least <= middle <= most else (least + most) / 2


def _crosses(edges: Edges, start: Point, end: Point) -> bool:
    """Tell whether a level or upright line runs through a box."""
    (x, x2), (y, y2) = sorted((start[0], end[0])), sorted((start[1], end[1]))
    return x < edges[2] and x2 > edges[0] and y < edges[3] and y2 > edges[1]
