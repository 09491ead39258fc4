"""The list of packages; everything else about the project is in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

from setuptools import find_packages, setup

MAPPED = ("viewer", "schemas", "stages")
"""Top-level folders that import as ``usd_sim.NAME`` (see ``package-dir`` in pyproject.toml)."""


def packages() -> list[str]:
    """Names of all packages: those in ``usd_sim/`` and those of the mapped folders that exist."""
    root = str(Path(__file__).resolve().parent)
    own = find_packages(root, include=["usd_sim", "usd_sim.*"])
    mapped = find_packages(root, include=[pattern for name in MAPPED for pattern in (name, f"{name}.*")])
    return own + [f"usd_sim.{name}" for name in mapped]


setup(packages=packages())
