"""Each lesson with its exercises answered, quick cells twice: it runs, and says what readers see.

The others run twice, too, whenever a lesson is built (`tools.publish`): there is no other way to
a notebook of this source. Here that would cost a quarter of an hour each time.

Of the lessons that are not rewritten yet only the solutions and their checks are run, after all
that the lesson imports: nothing else in them was made to be run twice.
"""

import ast
import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tools.publish import printed_by_checks
from tools.run import run_solved
from tools.source import NOT_YET, find_lessons, has, load, read_seen

LESSONS = find_lessons(Path(__file__).parents[1])
NEW = [lesson for lesson in LESSONS if lesson.name not in NOT_YET]
OLD = [lesson for lesson in LESSONS if lesson.name in NOT_YET]


QUICK = 5
"""Seconds: what takes less is run again."""


@pytest.mark.lesson
@pytest.mark.parametrize("lesson", NEW, ids=lambda lesson: lesson.name)
def test_it_runs_solved_with_every_quick_cell_twice(lesson):
    said = printed_by_checks(run_solved(lesson, again=QUICK))
    assert said[::2] == said[1::2] == read_seen(lesson)


@pytest.mark.parametrize("lesson", OLD, ids=lambda lesson: lesson.name)
def test_each_solution_passes_its_check(lesson):
    room = {}
    cells = [cell for cell in load(lesson, solved=True).cells if cell.cell_type == "code"]
    for cell in cells[1:]:  # without the bootstrap
        imports = [
            node
            for node in ast.parse(cell.source).body
            if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        exec(compile(ast.Module(imports, []), lesson.name, "exec"), room)
    said = []
    for cell in cells:
        if has(cell, "stub"):
            exec(cell.source, room)
        elif has(cell, "check"):
            with redirect_stdout(io.StringIO()) as printed:
                exec(cell.source, room)
            said.append(printed.getvalue())
    assert said == read_seen(lesson)
    assert all(one.startswith("✓") for one in said)
