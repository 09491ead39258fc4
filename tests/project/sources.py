"""The files of the project, and what their syntax trees import: shared by the tests in this folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
MAPPED = {"viewer": "usd_sim.viewer", "schemas": "usd_sim.schemas", "stages": "usd_sim.stages"}
"""Top-level folders and the names that they import as."""

_SKIPPED = {"__pycache__", "bakes", "build", "dist"}
_KEPT_HIDDEN = {".ci", ".gitignore", ".pre-commit-config.yaml"}


class Import(NamedTuple):
    """One imported module, by its absolute name."""

    module: str
    line: int


def project_files() -> Iterator[Path]:
    """All files of the checkout but the environment, caches and results."""
    pending = [ROOT]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            hidden = path.name.startswith(".") and path.name not in _KEPT_HIDDEN
            if hidden or path.name in _SKIPPED or path.name.endswith(".egg-info"):
                continue
            if path.is_dir():
                pending.append(path)
            else:
                yield path


def package_files() -> Iterator[Path]:
    """Python files of the packages: ``usd_sim/`` and the mapped folders that exist."""
    for folder in ("usd_sim", *MAPPED):
        yield from sorted((ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    """Dotted name that a file of a package imports as."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join([MAPPED.get(parts[0], parts[0]), *parts[1:]])


def parse(path: Path) -> ast.Module:
    """Syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(tree: ast.Module, module: str, *, is_package: bool) -> Iterator[Import]:
    """Imports at any depth, each name of a ``from`` import as its own module, those for type checkers alone left out.

    Args:
        tree: Syntax tree of the importing file.
        module: Dotted name of the importing file, which relative imports start from.
        is_package: Whether that file is an ``__init__.py``.
    """
    package = module.split(".") if is_package else module.split(".")[:-1]
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            yield from (Import(f"{prefix}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            pending.extend(node.orelse)
        else:
            pending.extend(ast.iter_child_nodes(node))
