"""Small authored scenes: demos, examples for the README and material for tests.

Every scene is one hand-readable ``.usda`` file in this folder that opens by itself, tells in its documentation what one
should see, and carries its own materials, lights, camera and time range.

    >>> from usd_sim import stages
    >>> stages.path("four_bar")            # doctest: +SKIP
    PosixPath('.../four_bar.usda')
    >>> stages.descriptions()["four_bar"]  # doctest: +SKIP
    'A motor turns the crank of a four-bar linkage ...'
"""

from __future__ import annotations

from pathlib import Path

from usd_sim.errors import UsdSimError

__all__ = ["description", "descriptions", "names", "path"]

_FOLDER = Path(__file__).resolve().parent
_SUFFIX = ".usda"


def names() -> list[str]:
    """Return the names of the shipped scenes, sorted, without suffix."""
    return sorted(file.stem for file in _FOLDER.glob(f"*{_SUFFIX}"))


def path(name: str) -> Path:
    """Return the file of a shipped scene.

    Args:
        name: One of :func:`names`, with or without ``.usda``.

    Returns:
        Absolute path of the ``.usda`` file.

    Raises:
        UsdSimError: There is no scene of that name; the remedy lists those that there are.
    """
    stem = name.removesuffix(_SUFFIX)
    available = names()
    if stem not in available:
        raise UsdSimError(f'no shipped stage is called "{name}"', remedy=f"choose one of: {', '.join(available)}")
    return _FOLDER / f"{stem}{_SUFFIX}"


def description(name: str) -> str:
    """Return what one sees in a shipped scene, in one line.

    It is the first line of the layer's documentation; only the layer's metadata is read.

    Args:
        name: One of :func:`names`, with or without ``.usda``.

    Raises:
        UsdSimError: There is no scene of that name.
    """
    # pxr is imported here so that listing and locating scenes stays light.
    from pxr import Sdf

    layer = Sdf.Layer.OpenAsAnonymous(str(path(name)), metadataOnly=True)
    return layer.documentation.strip().partition("\n")[0]


def descriptions() -> dict[str, str]:
    """Return the one-line :func:`description` of every shipped scene by name, in the order of :func:`names`."""
    return {name: description(name) for name in names()}
