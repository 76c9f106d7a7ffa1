"""Each layer's docstring shows how it is used, and every example of the package is run."""

import doctest
import importlib
import inspect
import pkgutil

import pytest
import torch
from torch import nn

import coursekit

MODULES = [found.name for found in pkgutil.walk_packages(coursekit.__path__, "coursekit.")]
LAYERS = [name for name in MODULES if name.startswith("coursekit.layers.")]
FINDER = doctest.DocTestFinder(exclude_empty=True)


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_examples_give_what_they_say(name, capsys):
    torch.manual_seed(0)
    module = importlib.import_module(name)
    known = {"torch": torch, "nn": nn} | vars(module)
    runner = doctest.DocTestRunner()
    for example in FINDER.find(module, globs=known):
        runner.run(example)
    assert runner.failures == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", LAYERS)
def test_each_layer_has_an_example(name):
    module = importlib.import_module(name)
    public = [
        item
        for title, item in vars(module).items()
        if not title.startswith("_")
        and inspect.getmodule(item) is module
        and (inspect.isclass(item) or inspect.isfunction(item))
    ]
    without = [item.__name__ for item in public if ">>> " not in (item.__doc__ or "")]
    assert not without, f"{name}: no example in {', '.join(without)}"
