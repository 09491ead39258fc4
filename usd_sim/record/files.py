"""Output files that appear under their final names only when they are complete.

Everything is first written into a hidden folder beside the output, flushed to the disk, and then renamed: first
what the root layer refers to, the root layer last. A run that is killed leaves at most that hidden folder.
"""

from __future__ import annotations

import os
import re
import shutil
import weakref
from collections.abc import Iterable
from pathlib import Path

from pxr import Sdf, Tf

from usd_sim.errors import UsdSimError

__all__ = ["OutputFiles"]

_ROOT_SUFFIXES = (".usda", ".usdc", ".usd")
_RESULT_FORMATS = ("usdc", "usda")


class OutputFiles:
    """Names, staging and publishing of the files of one recording.

    Args:
        output: Root layer, ``.usda``, ``.usdc`` or ``.usd``. Its folder is created when missing.
        format: Format of the results beside it, ``usdc`` or ``usda``.
        overwrite: Whether files of an earlier recording may be replaced.
        sources: Files that must never be written, even with ``overwrite``.

    Raises:
        UsdSimError: The name is not a USD layer's, the file exists, is one of the sources, or the folder cannot be
            written.
    """

    def __init__(self, output: Path, *, format: str, overwrite: bool, sources: Iterable[str] = ()):
        self.root = Path(os.path.abspath(output))
        if self.root.suffix not in _ROOT_SUFFIXES:
            raise UsdSimError(
                "the output is not named as a USD layer", prim=str(output), remedy="end its name in .usda"
            )
        if format not in _RESULT_FORMATS:
            raise UsdSimError(f"unknown format of results: {format!r}", remedy="usdc or usda")
        self.format = format
        self._refuse(overwrite, {os.path.realpath(path) for path in sources})
        self._pending: list[Path] = []
        self._made_folders = self._make_folder()
        self._staging = self.root.with_name(f".{self.root.name}.partial-{os.getpid()}")
        # whatever ends this process in good order takes the unfinished files along
        weakref.finalize(self, shutil.rmtree, self._staging, ignore_errors=True)
        try:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging.mkdir()
        except OSError as error:
            self._remove_folders()
            raise _cannot_write(self.root.parent, error) from error

    @property
    def results(self) -> Path:
        """The results layer, ``OUT-stem.results.usdc``."""
        return self.root.with_name(f"{self.root.stem}.results.{self.format}")

    @property
    def manifest(self) -> Path:
        """The manifest of the value clips."""
        return self.root.with_name(f"{self.root.stem}.results.manifest.{self.format}")

    def clip(self, index: int) -> Path:
        """Return the file of one value clip."""
        return self.root.with_name(f"{self.root.stem}.results.clip{index:04d}.{self.format}")

    def earlier_results(self) -> list[Path]:
        """Return the files of an earlier recording of the same name, other than its root."""
        pattern = re.compile(re.escape(self.root.stem) + r"\.results(\.manifest|\.clip\d{4,})?\.usd[ac]")
        if not self.root.parent.is_dir():
            return []
        return sorted(path for path in self.root.parent.iterdir() if pattern.fullmatch(path.name))

    def write(self, layer: Sdf.Layer, path: Path, *, witness: tuple[Sdf.Path, int] | None = None) -> None:
        """Write a layer into the staging folder, to be published as ``path``.

        Args:
            layer: What to write.
            path: Final name.
            witness: An attribute and the number of samples it must have when the file is read back.

        Raises:
            UsdSimError: The disk is full or fails.
        """
        staged = self._staging / path.name
        try:
            if not layer.Export(str(staged)):
                raise OSError("USD could not write the layer")
            if witness is not None:
                read_back = Sdf.Layer.OpenAsAnonymous(str(staged))
                if read_back is None or read_back.GetNumTimeSamplesForPath(witness[0]) != witness[1]:
                    raise OSError("what was written does not read back")
            with open(staged, "rb") as file:
                os.fsync(file.fileno())
        except (OSError, Tf.ErrorException) as error:
            raise _cannot_write(path, error) from error
        self._pending.append(path)

    def publish(self) -> list[Path]:
        """Give the written files their final names, in the order they were written; the root must be the last.

        Returns:
            The final names.
        """
        stale = set(self.earlier_results()) - set(self._pending)
        try:
            for path in self._pending:
                os.replace(self._staging / path.name, path)
            for path in stale:
                path.unlink()
            _flush_folder(self.root.parent)
        except OSError as error:
            raise _cannot_write(self.root, error) from error
        shutil.rmtree(self._staging, ignore_errors=True)
        for path in self._pending:
            already_open = Sdf.Layer.Find(str(path))
            if already_open:
                already_open.Reload(force=True)
        return self._pending

    def discard(self) -> None:
        """Remove everything that was not published, and the folders made for it."""
        shutil.rmtree(self._staging, ignore_errors=True)
        self._remove_folders()

    def _refuse(self, overwrite: bool, sources: set[str]) -> None:
        earlier = [path for path in (self.root, *self.earlier_results()) if path.exists()]
        for path in (self.root, *earlier):
            if os.path.realpath(path) in sources:
                raise UsdSimError(
                    "the output would replace a layer of its own source", prim=str(path), remedy="choose another output"
                )
            if path.is_dir():
                raise UsdSimError("the output is a folder", prim=str(path), remedy="name a file")
        if earlier and not overwrite:
            raise UsdSimError("the file exists", prim=str(earlier[0]), remedy="--overwrite replaces it")

    def _make_folder(self) -> list[Path]:
        """Create the output's folder with its parents and return those made, the innermost first."""
        folder = self.root.parent
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(folder, error) from error
        return missing

    def _remove_folders(self) -> None:
        for folder in self._made_folders:
            try:
                folder.rmdir()
            except OSError:
                return


def _flush_folder(folder: Path) -> None:
    """Flush renames to the disk where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cannot_write(path: Path, error: Exception) -> UsdSimError:
    """Turn an error of the system or of USD into one line."""
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
    else:
        # the first of USD's errors is the cause; its text stands in quotes after the source line
        found = re.search(r"\.cpp : '(.*?)'\s*$", str(error), re.MULTILINE)
        reason = found.group(1).rsplit(": ", 1)[-1] if found else "USD could not write the layer"
    full = "No space left" in reason
    remedy = "free some space, or choose another output" if full else "choose another output"
    return UsdSimError(f"cannot write: {reason}", prim=str(path), remedy=remedy)
