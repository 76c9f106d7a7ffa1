"""What is out of form in a lesson, as sentences. tests/test_lesson_form.py judges the lessons."""

import ast
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

from nbformat import NotebookNode

from coursekit.notebook.page import source_without_examples
from tools.source import Lesson, has, load

LIMITS = {"cells": 80, "words": 2500, "sections": 8, "lines of code": 300}
TOLERANCE = 1.05
FIRST_CELL, SHOWN, PIECE = 6, 20, 15  # lines
NO_BOARD = {"00", "05", "10"}  # where no model is compared
AVOIDED = re.compile(r"\b(slopes?|widening)\b", re.I)
QUARRELS = re.compile(r"\b(you will (?:meet|read)|a slip you|one reads)\b", re.I)
KINDS = {"warm-up": "E(SCL)+", "build": "E(SCL)+", "investigate": "E"}
"""Exercise, Stub, Check, soLution: what belongs to an exercise of a kind, in this order."""


@dataclass(frozen=True)
class Page:
    """A lesson as readers get it."""

    name: str
    cells: list[NotebookNode]

    @cached_property
    def number(self) -> str:
        """Return "02" or "02b"."""
        return self.name.partition("_")[0]

    @cached_property
    def is_main(self) -> bool:
        """Tell whether it is on the main road, with no letter after its number."""
        return self.number.isdigit()

    @cached_property
    def code(self) -> list[NotebookNode]:
        """Return its own code cells: all but the first, which is every lesson's."""
        return [c for c in self.cells if c.cell_type == "code" and not has(c, "bootstrap")]

    @cached_property
    def text(self) -> str:
        """Return all that is written."""
        return "\n".join(c.source for c in self.cells if c.cell_type == "markdown")

    @cached_property
    def prose(self) -> str:
        """Return what is written and not folded."""
        return re.sub(r"<details>.*?</details>", "", self.text, flags=re.DOTALL)

    @cached_property
    def parts(self) -> list[tuple[str, int, NotebookNode, str]]:
        """Return each part of each cell: its section, the cell's position, the cell, the part.

        A cell has several parts if a section begins in it; one outside of all numbered sections,
        `## 2.1 …`, is in the section "".
        """
        found, here = [], ""
        for position, cell in enumerate(self.cells, 1):
            is_prose = cell.cell_type == "markdown"
            for part in re.split(r"^(?=## )", cell.source, flags=re.M) if is_prose else [""]:
                if heading := re.match(r"## (\d+[a-z]?\.\d+)?", part):
                    here = heading.group(1) or ""
                found.append((here, position, cell, part))
        return found


def read_page(lesson: Lesson) -> Page:
    """Make a lesson's page from its source."""
    return Page(lesson.name, load(lesson).cells)


def find_faults(page: Page) -> list[str]:
    """List what is out of form in a lesson."""
    return [fault for rule in RULES for fault in rule(page)]


def is_long(page: Page) -> Iterator[str]:
    lines = [line.strip() for cell in page.code for line in cell.source.splitlines()]
    got = {
        "cells": len(page.cells) - 1,
        "words": len(page.prose.split()),
        "sections": len(re.findall(r"^## ", page.prose, re.MULTILINE)),
        "lines of code": sum(bool(line) and not line.startswith("#") for line in lines),
    }
    for what, most in LIMITS.items():
        if got[what] > TOLERANCE * most:
            yield f"{got[what]} {what}, more than {most}"


def has_a_long_first_cell(page: Page) -> Iterator[str]:
    for cell in page.cells:
        if has(cell, "bootstrap") and len(cell.source.splitlines()) > FIRST_CELL:
            yield f"the first cell has more than {FIRST_CELL} lines"


def lacks_a_guess(page: Page) -> Iterator[str]:
    if not any(has(cell, "predict") for cell in page.code):
        yield "no cell is tagged predict: let the reader guess before measuring"


def keeps_proof_on_the_page(page: Page) -> Iterator[str]:
    for cell in page.code:
        if re.search(r"stand_in=|\babout\s*=", cell.source):
            yield f"a band in a cell: {_begin(cell)}; move it to the file of bands"
    claims = sum(bool(re.search(r"\bclaim\w*\(", cell.source)) for cell in page.code)
    if 3 * claims > len(page.code) + 2:
        yield f"{claims} of {len(page.code)} code cells claim something, more than a third"


def says_what_is_avoided(page: Page) -> Iterator[str]:
    for text, pattern in ((page.prose, AVOIDED), (page.text, QUARRELS)):
        for word in sorted({one.lower() for one in pattern.findall(text)}):
            yield f"it says {word!r}"


def shows_too_much(page: Page) -> Iterator[str]:
    homes: dict[str, str] = {}
    for node in _nodes(page):
        if isinstance(node, ast.ImportFrom):
            homes |= {alias.asname or alias.name: node.module or "" for alias in node.names}
    for node in _nodes(page):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "show":
            for name in map(ast.unparse, node.args):  # such as GPT or GPT.forward
                if name.split(".")[0] not in homes:
                    yield f"show({name}) is not of something imported by name"
                    continue
                thing = attrgetter(name)(import_module(homes[name.split(".")[0]]))
                lines = len(source_without_examples(thing).splitlines())
                if lines > SHOWN:
                    yield f"show({name}) prints {lines} lines, more than {SHOWN}"


def lacks_a_figure(page: Page) -> Iterator[str]:
    drawn = {section for section, _, cell, _ in page.parts if has(cell, "figure")}
    sections = {section for section, *_ in page.parts} - {""}
    for number in sorted(sections - drawn):
        yield f"section {number} has no figure"
    if not sections:
        yield "it has no numbered section, `## 2.1 …`"


def lacks_a_control(page: Page) -> Iterator[str]:
    moves = any(re.search(r"\b(play|type_text)\(", cell.source) for cell in page.code)
    if page.is_main and not moves:
        yield "nothing moves: a main lesson has a control, `play(` or `type_text(`"


def has_long_pieces(page: Page) -> Iterator[str]:
    for cell in page.code:
        for node in ast.parse(cell.source).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                begin = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                lines = cell.source.splitlines()[begin - 1 : node.end_lineno]
                count = sum(bool(line.strip()) for line in lines)
                if count > PIECE:
                    yield f"{node.name} has {count} lines, more than {PIECE}: cut it in two"


def lacks_a_scoreboard(page: Page) -> Iterator[str]:
    boards = [c for c in page.code if has(c, "scoreboard") and "scoreboard(" in c.source]
    if page.number[:2] not in NO_BOARD and not boards:
        yield "no cell is tagged scoreboard and calls `scoreboard(`"


def has_exercises_out_of_form(page: Page) -> Iterator[str]:
    letters = {"exercise": "E", "stub": "S", "check": "C", "solution": "L"}
    kind_of = dict.fromkeys(["exercise", "solution"], "markdown") | dict.fromkeys(
        ["stub", "check"], "code"
    )
    marks = "".join(
        next((letters[tag] for tag in letters if has(cell, tag)), " ") for cell in page.cells
    )
    for cell in page.cells:
        for tag, kind in kind_of.items():
            if has(cell, tag) and cell.cell_type != kind:
                yield f"a {tag} in the open: {_begin(cell)} is no {kind} cell"
    number = re.sub(r"^0(?=\d)", "", page.number)  # "0", "2", "2b", "10"
    kinds = []
    starts = [match.start() for match in re.finditer("E", marks)]
    if "S" not in marks:
        yield "no exercise has a stub"
    if marks[: min(starts, default=len(marks))].strip():
        yield "a stub, check or solution stands before the first exercise"
    for k, (start, end) in enumerate(pairwise([*starts, len(marks)]), 1):
        text = page.cells[start].source
        said = re.match(r"> \*\*Exercise (\S+) \(([\w-]+)", text)
        if said is None or said.group(1) != f"{number}.{k}" or said.group(2) not in KINDS:
            yield (
                f"exercise {k} begins {text[:40]!r}, not "
                f"'> **Exercise {number}.{k} (' and one of {', '.join(KINDS)}"
            )
            continue
        kinds.append(said.group(2))
        if not re.fullmatch(KINDS[kinds[-1]], marks[start:end].rstrip()):
            wanted = "no stub" if kinds[-1] == "investigate" else "stub, check, solution"
            yield f"exercise {number}.{k} ({kinds[-1]}) is followed by something else than {wanted}"
        if kinds[-1] != "investigate" and text.count("<summary>Hint") not in (1, 2):
            yield f"exercise {number}.{k} needs one or two hints"
    least, most = (3, 5) if page.is_main else (1, 4)
    if not least <= len(starts) <= most:
        yield f"{len(starts)} exercises, not {least} to {most}"
    if page.is_main and "build" not in kinds:
        yield "no exercise to build"


def quotes_a_table(page: Page) -> Iterator[str]:
    for cell in page.cells:
        if cell.cell_type == "markdown" and re.search(r"^> *\|", cell.source, re.MULTILINE):
            yield f"a table in a quotation, whose exported page shows its bars: {_begin(cell)}"


RULES: list[Callable[[Page], Iterator[str]]] = [
    is_long,
    has_a_long_first_cell,
    lacks_a_guess,
    keeps_proof_on_the_page,
    says_what_is_avoided,
    shows_too_much,
    lacks_a_figure,
    lacks_a_control,
    has_long_pieces,
    lacks_a_scoreboard,
    has_exercises_out_of_form,
    quotes_a_table,
]


def _nodes(page: Page) -> Iterator[ast.AST]:
    for cell in page.code:
        yield from ast.walk(ast.parse(cell.source))


def _begin(cell: NotebookNode) -> str:
    return repr(cell.source[:40])


# The words, and where each one is explained


@dataclass(frozen=True)
class Term:
    """A word, its other forms, and the section that explains it: "02b" and "2b.1"."""

    forms: tuple[str, ...]
    lesson: str
    section: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return what finds it in prose."""
        one_of = "|".join(re.escape(form).replace(r"\ ", r"\s") for form in self.forms)
        return re.compile(rf"(?<![\w-])(?:{one_of})(?!\w)", re.I)


def read_glossary(path: Path) -> list[Term]:
    """Read the glossary.

    Raises:
        ValueError: if an entry is not what it must be, or two have one form.
    """
    terms = []
    taken: dict[str, str] = {}
    for word, entry in tomllib.loads(path.read_text("utf-8")).items():
        where = re.fullmatch(r"(\d\d[a-z]?) (\d+[a-z]?\.\d+)", entry.get("section", ""))
        if where is None or entry.keys() - {"section", "also"}:
            raise ValueError(f'{word!r}: give section = "02 2.4", and other forms in `also`')
        forms = (word, *entry.get("also", ()))
        for form in forms:
            if form.lower() in taken:
                raise ValueError(f"{form!r} is a form of {taken[form.lower()]!r} and of {word!r}")
            taken[form.lower()] = word
        terms.append(Term(forms, *where.groups()))
    return terms


def find_early_words(terms: Sequence[Term], pages: Mapping[str, Page]) -> list[str]:
    """List the uses of terms on the road before the section that explains them.

    A lesson's opening cell may name what the lesson will explain.

    Args:
        pages: by number, the lessons in form; others explain their terms and are not read.
    """
    faults = []
    for term in terms:
        home = pages.get(term.lesson)
        if home and term.section not in {where for where, *_ in _uses(term, home)}:
            faults.append(f"{home.name} has no section {term.section} with {term.forms[0]!r}")
        for page in pages.values():
            is_passed = term.lesson < page.number
            is_on_the_road = term.lesson.isdigit() or not page.is_main
            if is_passed and is_on_the_road:
                continue
            for where, position, used in _uses(term, page):
                if page is home and position == 1:
                    continue
                if page is home and where == term.section:
                    break  # explained: from here on it may be used
                faults.append(
                    f"{page.name}, cell {position}: {used!r} is explained in {term.lesson} "
                    f"{term.section}, which is "
                    + ("beside the main road" if is_passed else "later")
                )
                break
    return faults


def _uses(term: Term, page: Page) -> Iterator[tuple[str, int, str]]:
    """Find a term: the section, the cell's position, and the form of it."""
    for section, position, _, part in page.parts:
        if found := term.pattern.search(_plain(part)):
            yield section, position, found.group()


def _plain(text: str) -> str:
    """Return prose without code, formulas and addresses."""
    text = re.sub(r"```.*?```|\$\$.*?\$\$", " ", text, flags=re.DOTALL)
    return re.sub(r"`[^`\n]*`|\$[^$\n]*\$|\]\([^)\s]*\)|<[^>\n]*>", " ", text)
