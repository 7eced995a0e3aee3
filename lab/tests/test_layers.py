"""The packages of the lab in the order of the pipeline: each imports only from those before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wirebench

ORDER = (
    "catalog",
    "host",
    "process",
    "build",
    "verify",
    "conformance",
    "plan",
    "trial",
    "store",
    "footprint",
    "run",
    "stats",
    "report",
    "duel",
    "gate",
    "history",
    "decide",
    "serve",
    "selftest",
    "fleet",
    "cli",
)
SOURCE = Path(wirebench.__file__).parent


def imported_modules(source: str, module: str, *, is_package: bool = False) -> Iterator[str]:
    """Every module that the source imports, in full.

    Imports inside functions and ``TYPE_CHECKING`` blocks count, and so do relative imports and
    calls of ``import_module`` and ``__import__`` with a constant name.
    """
    parts = module.split(".")
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=target, names=names, level=level):
                # One dot is the package that holds the module.
                above = parts[: len(parts) - level + is_package] if level else []
                base = ".".join([*above, *([target] if target else [])])
                # ``from wirebench import stats`` names a package after ``import``.
                yield from (f"{base}.{name.name}" for name in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__")
                | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(target)), *_],
            ):
                yield ".".join([*parts[:-1], target.lstrip(".")]) if target[0] == "." else target


def package_of(module: str) -> str | None:
    """The lab's package that a module is in; None outside the lab and in its root."""
    match module.split("."):
        case ["wirebench", package, *_] if package in ORDER:
            return package
        case _:
            return None


def back_arrows(package: str, modules: Iterator[str]) -> list[str]:
    above = ORDER[ORDER.index(package) + 1 :]
    return [module for module in modules if package_of(module) in above]


def test_order_names_every_package() -> None:
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert folders == set(ORDER)
    assert len(ORDER) == len(folders)


@pytest.mark.parametrize("package", ORDER)
def test_a_package_imports_only_packages_before_it(package: str) -> None:
    arrows = []
    for path in sorted((SOURCE / package).rglob("*.py")):
        name = ".".join(["wirebench", *path.relative_to(SOURCE).with_suffix("").parts])
        is_package = path.name == "__init__.py"
        module = name.removesuffix(".__init__")
        found = imported_modules(path.read_text(), module, is_package=is_package)
        arrows += [f"{name} -> {target}" for target in back_arrows(package, found)]
    assert arrows == []


def test_modules_beside_the_packages_import_none_of_them() -> None:
    # entry.py starts the command; it is above all packages.
    for path in sorted(SOURCE.glob("*.py")):
        found = imported_modules(path.read_text(), f"wirebench.{path.stem}")
        if path.stem == "entry":
            assert {package_of(module) for module in found} <= {"cli", None}
        else:
            assert [module for module in found if package_of(module)] == [], path.name


@pytest.mark.parametrize(
    "source",
    [
        "import wirebench.stats",
        "import wirebench.stats.ranks as ranks",
        "from wirebench.stats import ranks",
        "from wirebench import stats",
        "from ..stats import ranks",
        "from .. import stats",
        "def late():\n    from wirebench.stats import ranks",
        "if TYPE_CHECKING:\n    from wirebench.stats import ranks",
        "import importlib\nimportlib.import_module('wirebench.stats')",
        "from importlib import import_module\nimport_module('wirebench.stats.ranks')",
        "__import__('wirebench.stats')",
    ],
)
def test_every_form_of_an_import_is_seen(source: str) -> None:
    found = imported_modules(source, "wirebench.plan.blocks")
    assert back_arrows("plan", found), source


def test_relative_imports_of_a_package_file_start_at_the_package() -> None:
    found = imported_modules("from ..stats import ranks", "wirebench.plan", is_package=True)
    assert back_arrows("plan", found) == ["wirebench.stats.ranks"]
    own = imported_modules("from .blocks import Entry", "wirebench.plan", is_package=True)
    assert list(own) == ["wirebench.plan.blocks.Entry"]


def test_imports_of_earlier_packages_and_of_others_are_right() -> None:
    source = "import numpy.stats\nfrom wirebench.catalog import model\nfrom . import model"
    assert back_arrows("plan", imported_modules(source, "wirebench.plan.blocks")) == []
