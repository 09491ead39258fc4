"""What all tests share: the Newton schemas, the folder of real assets, and how hypothesis draws."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
"""Top folder of the checkout."""

ASSETS = ROOT.parent / "shared" / "assets"
"""Real assets by other authors: a sibling of the checkout, which need not be there."""

# A machine's load must fail no test, so there are no deadlines; in CI every run draws the same examples.
_UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", print_blob=True, **_UNTIMED)
settings.register_profile("ci", derandomize=True, database=None, **_UNTIMED)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the schemas before any test module can wake up USD's schema registry."""
    if importlib.util.find_spec("usd_sim.schemas") is not None:
        from usd_sim import schemas

        schemas.register()


@pytest.fixture(scope="session")
def root() -> Path:
    """Top folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def assets() -> Path:
    """Folder of real assets; a test that asks for it is skipped where it is missing."""
    if not ASSETS.is_dir():
        pytest.skip("no folder of real assets beside the checkout")
    return ASSETS
