"""What people outside rely on: the workflow that tests each change, and the pages that explain."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EVENTS = WORKFLOW[True]  # YAML reads "on" so


def test_the_oldest_python_that_may_install_the_package_is_tested():
    versions = WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"]
    assert f">={versions[0]}" == PROJECT["requires-python"]


def test_each_job_waits_for_events_that_the_workflow_listens_to():
    for name, job in WORKFLOW["jobs"].items():
        condition = job.get("if", "")
        events = re.findall(r"event_name == '(\w+)'", condition)
        assert set(events) <= set(EVENTS), name
        assert events or not condition, name
        inputs = re.findall(r"inputs\.(\w+)", condition)
        assert set(inputs) <= set(EVENTS["workflow_dispatch"]["inputs"]), name


def test_every_target_and_extra_that_the_workflow_names_is_there():
    for name, job in WORKFLOW["jobs"].items():
        commands = "\n".join(step.get("run", "") for step in job["steps"])
        made = re.findall(r"make (?:\w+=\w+ )*([a-z-]+)", commands)
        assert made, name
        assert set(made) <= set(targets()), name
        for extras in re.findall(r'-e "\.\[(.+)\]"', commands):
            assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]), name


def targets():
    return re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)


def test_every_target_and_command_that_a_page_names_is_there():
    parsers = {
        name: (ROOT / name / "__main__.py").read_text("utf-8") for name in ("coursekit", "tools")
    }
    for page in ("README.md", "CONTRIBUTING.md", "docs/machines.md"):
        text = (ROOT / page).read_text("utf-8")
        named = re.findall(r"`make ([a-z-]+)", text)
        assert set(named) <= set(targets()), page
        for package, command in re.findall(r"python -m (coursekit|tools) ([a-z]+)", text):
            assert f'add_parser("{command}"' in parsers[package], (page, command)


def test_every_link_inside_the_project_leads_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), (page.name, link)


def test_contributing_is_one_page_that_covers_each_kind_of_addition():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert len(text) < 5_000
    for kind in ("notebook", "claim", "figure", "exercise", "recorded run", "data set", "mutant"):
        assert re.search(rf"\*\*An? {kind}", text), kind
