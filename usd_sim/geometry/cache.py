"""Results of slow computations, kept on disk by the content that they were computed from."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["cache_folder", "cached_arrays", "content_key"]


def cache_folder() -> Path:
    """Return the folder that results are kept in: ``$USD_SIM_CACHE``, else ``usd-sim`` in the user's cache folder.

    That is ``$XDG_CACHE_HOME``, or ``~/.cache`` where it is not set. The folder need not exist.
    """
    own = os.environ.get("USD_SIM_CACHE")
    if own:
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "usd-sim"


def content_key(content: str, **parameters: Any) -> str:
    """Return a name for what is computed from some content with some parameters.

    Args:
        content: Digest of the content.
        **parameters: All that changes the result, the version of the code that computes it included.
    """
    said = "\n".join([content, *(f"{name}={value!r}" for name, value in sorted(parameters.items()))])
    return hashlib.blake2b(said.encode(), digest_size=20).hexdigest()


def cached_arrays(kind: str, key: str, compute: Callable[[], list[np.ndarray]]) -> list[np.ndarray]:
    """Return arrays from disk, or compute and keep them.

    Files appear under their name only when complete. A file that cannot be read counts as missing; where the folder
    cannot be written, nothing is kept.

    Args:
        kind: Subfolder.
        key: Name, see :func:`content_key`.
        compute: Makes the arrays.
    """
    path = cache_folder() / kind / f"{key}.npz"
    # an altered file can raise nearly anything, from a wrong checksum to an unknown compression
    with suppress(Exception), np.load(path, allow_pickle=False) as stored:
        return [stored[f"arr_{i}"] for i in range(int(stored["count"]))]
    arrays = compute()
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(suffix=".npz", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, *arrays, count=np.array(len(arrays)))
            os.replace(name, path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    return arrays
