"""The hash of the code of a recorded run: which change of the code asks for a new recording.

What counts: the definition that a recipe names, and each function, class and constant of the clone
that it uses, wherever it is defined, and what those use in turn.

What doesn't: comments, docstrings, layout, the types in signatures and the words of an error; code
that the run doesn't use; tools/record.py, which only calls it; other packages, whose versions are
recorded; and how data come here (the rooms in `LEFT_OUT`, and what describes a data set), for the
data have a hash of their own.

It is read off the text, so a function that is only found while the code runs, by `getattr` or a
name in a table elsewhere, is not seen: a recipe names what it uses. The hash is the same in each
version of Python.
"""

import ast
import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path

LEFT_OUT = ("coursekit.fetch", "coursekit.settings")
DESCRIPTIONS = ("Dataset", "Packaged")
"""Classes of `coursekit.fetch.dataset` whose instances describe a data set."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Binding = ast.stmt | tuple[str, str]
"""What a name of a module stands for: a statement there, or a module and a name in it."""


def hash_code(reference: str, root: Path) -> str:
    """Return the hash of the code that "module:name" runs, of what lies below `root`.

    Raises:
        ValueError: if there is no such definition.
    """
    found = find_definitions(reference, root)
    text = "\n".join(f"{name} {canonical_text(found[name])}" for name in sorted(found))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_definitions(reference: str, root: Path) -> dict[str, ast.stmt]:
    """Find the statement that defines "module:name", and those of all that it uses, by reference.

    Raises:
        ValueError: if there is no such definition.
    """
    module, _, name = reference.partition(":")
    home = _resolve(root, module, name)
    if home is None or not home[1]:
        raise ValueError(f"{reference} is not defined below {root}: correct the recipe's code")
    found: dict[str, ast.stmt] = {}
    waiting = [home]
    while waiting:
        module, name = waiting.pop()
        definition = _bindings(root, module)[name]
        if f"{module}:{name}" not in found and isinstance(definition, ast.stmt):
            found[f"{module}:{name}"] = definition
            waiting += _used_by(definition, module, root)
    return found


def canonical_text(node: object) -> str:
    """Write what counts of a piece of code."""
    if isinstance(node, list):
        return f"[{' '.join(map(canonical_text, node))}]"
    if not isinstance(node, ast.AST):
        return ascii(node)
    parts = [f"{name}={canonical_text(value)}" for name, value in _fields(node)]
    return f"({type(node).__name__} {' '.join(parts)})"


def _fields(node: ast.AST) -> Iterator[tuple[str, object]]:
    """Yield the fields that count; a later Python adds some that are empty."""
    for name, value in ast.iter_fields(node):
        if isinstance(node, (*FUNCTIONS, ast.arg)) and name in ("annotation", "returns"):
            continue
        if isinstance(node, ast.Raise) and isinstance(value, ast.Call):
            value = value.func
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and name == "body":
            value = value[ast.get_docstring(node) is not None :]
        if isinstance(node, ast.JoinedStr):  # Python 3.12.1 adds an empty piece to some
            value = [part for part in value if getattr(part, "value", None) != ""]
        if value is not None and value != []:
            yield name, value


def _used_by(definition: ast.stmt, module: str, root: Path) -> Iterator[tuple[str, str]]:
    """Yield the home of each definition that one uses: module and name."""
    known = _bindings(root, module)
    for part in _parts_that_count(definition):
        chain = _dotted(part)
        if chain and chain[0] in known:
            home = _follow(root, (module, chain[0]), chain[1:])
            if home is not None and home[1]:
                yield home
        elif isinstance(part, ast.ImportFrom) and part.module:
            homes = (_resolve(root, part.module, alias.name) for alias in part.names)
            yield from (home for home in homes if home is not None and home[1])


def _parts_that_count(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through a piece of code as `canonical_text` does."""
    yield node
    for _, value in _fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _parts_that_count(child)


def _dotted(node: ast.AST) -> list[str]:
    """Return a.b.c as its names; nothing if the code is something else."""
    if isinstance(node, ast.Name):
        return [node.id]
    before = _dotted(node.value) if isinstance(node, ast.Attribute) else []
    return [*before, node.attr] if before else []


def _follow(root: Path, start: tuple[str, str], attributes: list[str]) -> tuple[str, str] | None:
    """Return where a dotted name leads: only the attributes of modules are looked up."""
    home = _resolve(root, *start)
    for attribute in attributes:
        if home is None or home[1]:
            return home
        home = _resolve(root, home[0], attribute)
    return home


def _resolve(root: Path, module: str, name: str) -> tuple[str, str] | None:
    """Return the module that defines a name, and the name there; it is "" if it names a module.

    None if that is not in the clone, or left out.
    """
    if module.startswith(LEFT_OUT):
        return None
    binding = _bindings(root, module).get(name)
    if isinstance(binding, tuple):
        return _resolve(root, *binding)
    if binding is not None:
        return None if _describes_data(binding) else (module, name)
    whole = f"{module}.{name}" if name else module
    return (whole, "") if _module_file(root, whole) else None


def _describes_data(binding: ast.stmt) -> bool:
    value = getattr(binding, "value", None)
    return isinstance(value, ast.Call) and _dotted(value.func)[-1:] in [[d] for d in DESCRIPTIONS]


def _bindings(root: Path, module: str) -> dict[str, Binding]:
    """Tell what each name at the top of a module stands for; nothing if it isn't in the clone."""
    path = _module_file(root, module)
    return _bound_in(path.read_text("utf-8")) if path else {}


@functools.cache
def _bound_in(text: str) -> dict[str, Binding]:
    """Tell what each name at the top of this code stands for; the same code is read once."""
    found: dict[str, Binding] = {}
    for node in _top_level(ast.parse(text)):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {a.asname or a.name: (node.module, a.name) for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.asname or a.name.partition(".")[0]: _imported(a) for a in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (n for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))
            found |= {name.id: node for name in names}
    return found


def _top_level(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements that bind names of a module, also those under an `if` or a `try`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler):
            yield child
            if not isinstance(child, (*FUNCTIONS, ast.ClassDef)):
                yield from _top_level(child)


def _imported(alias: ast.alias) -> tuple[str, str]:
    """Return the module that `import a.b` binds to a, or `import a.b as c` to c."""
    return (alias.name if alias.asname else alias.name.partition(".")[0]), ""


def _module_file(root: Path, module: str) -> Path | None:
    base = root.joinpath(*module.split("."))
    return next((p for p in (base / "__init__.py", base.with_suffix(".py")) if p.is_file()), None)
