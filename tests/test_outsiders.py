"""What people outside rely on: the workflow that tests each change, and the pages that explain."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def read_workflow():
    return yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))


def commands(job):
    return [step["run"] for step in job["steps"] if "run" in step]


def test_the_workflow_runs_what_the_readme_names_on_the_oldest_and_the_newest_python():
    job = read_workflow()["jobs"]["test"]
    assert commands(job) == ["make test"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.x"]
    assert "make test" in (ROOT / "README.md").read_text("utf-8")
    assert 'requires-python = ">=3.11"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_it_tries_the_newest_versions_of_all_it_depends_on_every_week():
    job = read_workflow()["jobs"]["newest"]
    assert "schedule" in job["if"]
    install, test = commands(job)
    assert install == 'python -m pip install -e ".[offline,course,test]"'  # no lock file
    assert test == "make PYTHON=python test"


def test_it_runs_for_each_change_every_week_and_with_a_gpu_by_hand():
    workflow = read_workflow()
    when = workflow[True]  # YAML reads "on" so
    assert {"push", "pull_request", "schedule", "workflow_dispatch"} <= set(when)
    assert re.fullmatch(r"\d+ \d+ \* \* [0-6]", when["schedule"][0]["cron"])
    gpu = workflow["jobs"]["gpu"]
    assert commands(gpu) == ["make test-gpu"]
    assert "workflow_dispatch" in gpu["if"]


def test_every_target_and_command_that_a_page_names_is_there():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    parser = (ROOT / "coursekit/__main__.py").read_text("utf-8")
    for page in ("README.md", "CONTRIBUTING.md", "docs/machines.md"):
        text = (ROOT / page).read_text("utf-8")
        named = re.findall(r"`make ([a-z-]+)", text)
        assert set(named) <= set(targets), page
        for command in re.findall(r"python -m coursekit ([a-z]+)", text):
            assert f'add_parser("{command}"' in parser, (page, command)


def test_every_link_inside_the_project_leads_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), (page.name, link)


def test_contributing_is_one_page_that_covers_each_kind_of_addition():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert len(text) < 5_000
    for kind in ("notebook", "claim", "figure", "exercise", "data set", "mutant"):
        assert re.search(rf"\*\*An? {kind}", text), kind
