# SPDX-License-Identifier: GPL-2.0-or-later
"""Which part of the project may use which: upwards and in circles, none."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lab.paths import REPO

LAB = REPO / "lab"
LAYERS = (("experiments",), ("commands",), ("runner",), ("boot",), ("kernels",))
"""From above; what is not a folder is the ground floor, below all of them."""
UNITS, EDGES = 15, 40
EXPERIMENTS = REPO / "experiments"
C_SOURCES = ("clockfix/src", "kernel/src", "lab/common", "lab/init", "tests/lib", "command",
             "kernel/module",
             *sorted(f"experiments/{p.parent.name}" for p in EXPERIMENTS.glob("*/main.c")))
Graph = Mapping[str, set[str]]


def imports(file: Path) -> Iterator[str]:
    """The modules that a file imports anywhere, as ``from X import Y`` both X and X.Y."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources() -> dict[str, Path]:
    """Module -> file, of the lab and the experiments without unit tests."""
    found = {}
    for file in (*LAB.rglob("*.py"), *EXPERIMENTS.rglob("*.py")):
        words = file.relative_to(REPO).with_suffix("").parts
        if words[1] != "unit_tests" and words[-1] != "__main__":
            found[".".join(w for w in words if w != "__init__")] = file
    return found


def modules() -> Graph:
    """Module -> modules of the lab that it imports."""
    known = sources()
    return {name: {i for i in imports(file) if i in known and i.count(".") > 0} - {name}
            for name, file in known.items()}


def unit(module: str) -> str:
    """The folder, or the file of the ground floor, that a module is in."""
    first, second = module.split(".")[:2]
    return second if first == "lab" else first


def edges() -> set[tuple[str, str]]:
    """Folder or file of the ground floor, and what it imports."""
    return {(unit(a), unit(b)) for a, found in modules().items() for b in found
            if "." in a and unit(a) != unit(b)}


def layer(name: str) -> int:
    """0 for the ground floor."""
    return next((len(LAYERS) - i for i, names in enumerate(LAYERS) if name in names), 0)


def circle(graph: Graph) -> list[str]:
    """Some circle in it, or nothing."""
    done: set[str] = set()

    def walk(name: str, way: list[str]) -> list[str]:
        if name in way:
            return [*way[way.index(name):], name]
        if name in done:
            return []
        done.add(name)
        return next((c for n in sorted(graph.get(name, ())) if (c := walk(n, [*way, name]))), [])

    return next((c for name in sorted(graph) if (c := walk(name, []))), [])


def test_every_folder_has_its_layer() -> None:
    folders = {p.parent.name for p in LAB.glob("*/*.py")} - {"unit_tests"}
    assert folders | {"experiments"} == {name for names in LAYERS for name in names}


def test_a_folder_imports_only_folders_below_it() -> None:
    assert [f"{a} -> {b}" for a, b in edges() if layer(a) and layer(a) <= layer(b)] == []
    assert [f"{a} -> {b}" for a, b in edges() if not layer(a) and layer(b)] == []


def test_the_lab_stays_small_at_its_top() -> None:
    units = [p for p in LAB.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
    assert len(units) <= UNITS
    assert len(edges()) <= EDGES


def test_the_kernel_knows_nothing_of_the_lab() -> None:
    files = [p for p in (REPO / "kernel").rglob("*") if p.suffix == ".py"]
    files += [REPO / "kernel" / n for n in ("apply", "refresh", "series")]
    assert [str(f) for f in files if any(i.split(".")[0] == "lab" for i in imports(f))] == []


def test_no_circle_of_python_modules() -> None:
    assert circle(modules()) == []


DEFINITION = re.compile(r"^(?!static\b|typedef\b)[a-z_][\w \t*]*?(\w+)\([^;{}()]*\)\s*\{",
                        re.MULTILINE)


def c_modules(directory: Path) -> Graph:
    """A module is NAME.c with NAME.h; it needs those whose headers it includes, and those in which
    functions are defined that it calls, whatever header declares them.
    """
    files = [(f, re.sub(r"/\*.*?\*/|//[^\n]*", "", f.read_text(), flags=re.DOTALL))
             for f in sorted(directory.rglob("*.[ch]"))]
    owner = {name: f.with_suffix("") for f, text in files for name in DEFINITION.findall(text)}
    known = {f.with_suffix("") for f, _ in files}
    graph: dict[str, set[str]] = {}
    for file, text in files:
        module = file.with_suffix("")
        needed: set[Path] = set()
        for name in re.findall(r'^#include "(?:.*/)?([^"/]+)\.h"', text, re.MULTILINE):
            sibling = file.with_name(name)
            needed |= {sibling} if sibling in known else {m for m in known if m.name == name}
        if file.suffix == ".c":
            needed |= {owner[n] for n in re.findall(r"\b(\w+)\(", text) if n in owner}
        graph.setdefault(str(module.relative_to(directory)), set()).update(
            str(m.relative_to(directory)) for m in needed - {module})
    return graph


@pytest.mark.parametrize("directory", C_SOURCES)
def test_no_circle_of_c_modules(directory: str) -> None:
    assert circle(c_modules(REPO / directory)) == []


def test_calls_through_a_common_header_are_seen(tmp_path: Path) -> None:
    (tmp_path / "all.h").write_text("int a(void);\nint b(void);\n")
    (tmp_path / "a.c").write_text('#include "all.h"\nint a(void)\n{\n\treturn b();\n}\n')
    (tmp_path / "b.c").write_text('#include "all.h"\nint b(void)\n{\n\treturn a();\n}\n')
    assert circle(c_modules(tmp_path)) == ["a", "b", "a"]


def test_circles_are_found() -> None:
    assert circle({"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"b"}}) == ["b", "d", "b"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
