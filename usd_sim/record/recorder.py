"""The recorder: frames of a simulation in, a results layer over the source stage out."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Sdf, Usd, UsdGeom

from usd_sim.errors import UsdSimError
from usd_sim.geometry.transforms import quat_normalize, quat_rotate, transform_multiply, transform_point
from usd_sim.record.channels import Channel, declare, group_channels, set_samples
from usd_sim.record.copies import copy_out
from usd_sim.record.files import OutputFiles
from usd_sim.record.frames import LocalFrames, ParentLayout, keep_signs
from usd_sim.record.instances import BodyOrigins, instance_rows, read_instances
from usd_sim.record.layers import (
    ClipSpan,
    Timing,
    author_clips,
    author_targets,
    author_variants,
    flatten,
    new_layer,
    root_layer,
    source_reference,
    stage_notes,
)
from usd_sim.record.targets import find_prim, open_instances, read_targets

__all__ = ["RecordResult", "Recorder"]

_BATCH_ROWS = 65536
"""Body-frames converted at once: enough to hide the cost of numpy calls and to set many neighbouring samples in a
row; their
values take some 50 MB."""

_BATCH_FRAMES = 64
"""Most frames held back before they are written to the layer."""


@dataclass(frozen=True)
class RecordResult:
    """What a recording left behind.

    Attributes:
        root: Root layer, the file to open.
        results: Files that it refers to besides the source: the results layer, then clips and their manifest. Empty
            where the recording is flattened.
        samples: Samples of each recorded attribute.
        notes: What could not be recorded exactly, one line each.
    """

    root: Path
    results: list[Path]
    samples: int
    notes: list[str] = field(default_factory=list)


class Recorder:
    """Writes the motion of bodies as time samples, without touching the source stage.

    Sample i lies at ``start_time_code + i * timeCodesPerSecond / fps``. Poses become translate and orient samples
    in the space of each prim's parent; the prims keep their scale. Velocities follow UsdPhysics: in the space that
    the prim's own transform is expressed in, which is the parent's, in stage length/s and degrees/s. Joint state is
    written as ``state:<instance>:physics:position`` and ``:velocity``, degrees where angular and stage length where
    linear.

    Nothing appears under its final name before :meth:`finish`. As a context manager the recorder finishes nothing
    by itself: it aborts where it was neither finished nor aborted.

    Args:
        stage: The source, with a file of its own unless ``flatten``.
        body_paths: Prim paths of the bodies, in the order of the rows given to :meth:`frame`.
        output: Root layer to write. The results go beside it as ``STEM.results.usdc``.
        frames: Number of frames; ``frames + 1`` samples are expected.
        fps: Samples per second of simulated time.
        velocities: Whether to write ``physics:velocity`` and ``physics:angularVelocity``.
        body_com: Centres of mass in the body frames [m], ``(body_count, 3)``. Where given, linear velocities are
            written at the body origin, so that they are the rate of the translation; otherwise at the centre of
            mass, as :meth:`frame` receives them.
        origins: Which bodies are instances of PointInstancers; these move by the instancer's own arrays.
        joint_dofs: Joint prim, instance (``angular``, ``linear``, ``rotX``, …) and whether it is angular, one per
            column of the joint state given to :meth:`frame`.
        format: ``usdc`` or ``usda``, for the results.
        flatten: Whether to write one file that needs no other layer. Its format follows the name of ``output``.
        clips: Frames per value clip file; None keeps all samples in one results layer. Bounds the memory of long
            recordings.
        overwrite: Whether files of an earlier recording may be replaced.
        start_time_code: Time code of sample 0; the stage's startTimeCode, or 0 where it has none.

    Attributes:
        notes: What cannot be recorded exactly, one line each.
        needs_velocities: Whether :meth:`frame` needs velocities.

    Raises:
        UsdSimError: A path names no prim, the output exists or cannot be written, or the stage has no file.
    """

    def __init__(
        self,
        stage: Usd.Stage,
        body_paths: Sequence[str],
        *,
        output: Path | str,
        frames: int,
        fps: float,
        velocities: bool = False,
        body_com: Any = None,
        origins: BodyOrigins | None = None,
        joint_dofs: Sequence[tuple[str, str, bool]] = (),
        format: str = "usdc",
        flatten: bool = False,
        clips: int | None = None,
        overwrite: bool = False,
        start_time_code: float | None = None,
    ):
        _check_options(frames, fps, clips, flatten)
        root = stage.GetRootLayer()
        if start_time_code is None:
            start_time_code = root.startTimeCode if root.HasStartTimeCode() else 0.0
        self._stage = stage
        self._timing = Timing(start_time_code, root.timeCodesPerSecond, fps)
        self._frames = frames
        self._flatten = flatten
        self._clip_frames = clips
        self._meters_per_unit = UsdGeom.GetStageMetersPerUnit(stage)
        self._body_com = None if body_com is None else np.asarray(body_com, np.float64).reshape(-1, 3)
        self._source = "" if flatten else source_reference(stage, Path(os.path.abspath(output)).parent)
        self._read_bodies(body_paths, origins, velocities)
        joints = [find_prim(self._composed, path) for path, _, _ in joint_dofs]
        self._targets.instances = sorted(
            {*self._targets.instances, *self._instanced.instances, *open_instances(joints)}
        )
        self._joint_scale = np.array(
            [math.degrees(1.0) if angular else 1.0 / self._meters_per_unit for *_, angular in joint_dofs]
        )
        self._channels = self._make_channels(velocities, joint_dofs, joints)
        self.needs_velocities = velocities or self._instanced.has_velocities
        self._next = 0
        self._written = 0
        self._last_orient: NDArray[np.float64] | None = None
        self._spans: list[ClipSpan] = []
        self._pending: dict[str, list[NDArray[np.float64]]] = {}
        self._batch = max(1, min(_BATCH_FRAMES, _BATCH_ROWS // max(1, len(self._order))))
        self._layer = self._sample_layer()
        sources = [layer.realPath for layer in self._stage.GetUsedLayers() if layer.realPath]
        self._files: OutputFiles | None = OutputFiles(Path(output), format=format, overwrite=overwrite, sources=sources)

    def _read_bodies(self, body_paths: Sequence[str], origins: BodyOrigins | None, velocities: bool) -> None:
        """Read what there is to write about the bodies: as prims, and as instances of PointInstancers."""
        copies = copy_out(self._stage, body_paths, origins, self._timing)
        self._composed = copies.stage  # prims that are asked later on live as long as their stage
        self._copies = copies.layer
        self._paths, self._count = copies.paths, len(copies.paths)
        self._own, rows = instance_rows(copies.origins, self._count)
        start = self._timing.start
        self._targets = read_targets(copies.stage, [copies.paths[row] for row in self._own], start)
        self._instanced = read_instances(
            copies.stage, copies.paths, copies.origins, rows, self._targets, start, velocities=velocities
        )
        self._order = np.concatenate([self._own, self._instanced.rows])
        self._targets.parents += self._instanced.parents
        layout = ParentLayout.joined(self._targets.layout, self._instanced.layout)
        self._local = LocalFrames(layout, self._targets.animated_matrices)
        self.notes = stage_notes(self._stage) + copies.notes + self._targets.notes + self._instanced.notes

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abort()

    def frame(self, index: int, body_q: Any, body_qd: Any = None, joint_q: Any = None, joint_qd: Any = None) -> None:
        """Record one frame. Arrays are copied.

        Args:
            index: Number of the sample; they come in order from 0.
            body_q: World poses [m, xyzw], ``(body_count, 7)``.
            body_qd: World velocities of the centres of mass [m/s] and angular velocities [rad/s], ``(body_count,
                6)``; needed with :attr:`needs_velocities`.
            joint_q: Joint positions [rad or m], ``(dof_count,)``; needed with ``joint_dofs``.
            joint_qd: Joint velocities [rad/s or m/s], ``(dof_count,)``; needed with ``joint_dofs``.

        Raises:
            UsdSimError: A pose is not finite, or the disk is full.
            ValueError: The index is not the next one, or an array is missing or of another shape.
        """
        if index != self._next or index > self._frames:
            raise ValueError(f"sample {index} given where {self._next} of {self._frames + 1} is due")
        count, dofs = self._count, len(self._joint_scale)
        arrays = {"body_q": _rows("body_q", body_q, (count, 7))}
        if self.needs_velocities:
            arrays["body_qd"] = _rows("body_qd", body_qd, (count, 6))
        if dofs:
            arrays["joint_q"] = _rows("joint_q", joint_q, (dofs,))
            arrays["joint_qd"] = _rows("joint_qd", joint_qd, (dofs,))
        if not np.isfinite(arrays["body_q"]).all():
            path = self._paths[int(np.flatnonzero(~np.isfinite(arrays["body_q"]).all(axis=1))[0])]
            raise UsdSimError(f"the pose of sample {index} is not finite", prim=path, remedy="use smaller time steps")
        for name, array in arrays.items():
            self._pending.setdefault(name, []).append(array)
        self._next += 1
        clip_ends = self._clip_frames is not None and index > 0 and index % self._clip_frames == 0
        if self._next - self._written >= self._batch or clip_ends:
            self._write_pending(clip_ends=clip_ends and index < self._frames)

    def flush(self) -> None:
        """Set the samples of the frames held back so far; :meth:`finish` does so itself."""
        self._write_pending()

    def finish(self) -> RecordResult:
        """Write the files and give them their final names.

        Raises:
            UsdSimError: The disk is full or fails.
            ValueError: Samples are missing.
        """
        if self._next != self._frames + 1:
            raise ValueError(f"{self._next} samples of {self._frames + 1} were given")
        return self.finish_partial()

    def finish_partial(self) -> RecordResult:
        """Like :meth:`finish` with the samples given so far, of which there must be one."""
        if self._files is None or self._next == 0:
            raise ValueError("there is nothing to record: no sample was given, or the recorder is closed")
        try:
            self._write_pending()
            self._write_files(self._files)
            root, *results = reversed(self._files.publish())
        except BaseException:
            self.abort()
            raise
        self._files = None
        sheared = [self._paths[self._order[row]] for row in sorted(self._local.sheared)]
        for path in dict.fromkeys(sheared):
            self.notes.append(f"{path}: turns under an unevenly scaled prim; the nearest rotation is recorded")
        return RecordResult(root, results, self._written, list(self.notes))

    def abort(self) -> None:
        """Leave nothing behind. Does nothing after :meth:`finish`."""
        if self._files is not None:
            self._files.discard()
            self._files = None

    def _make_channels(
        self, velocities: bool, joint_dofs: Sequence[tuple[str, str, bool]], joints: Sequence[Usd.Prim]
    ) -> list[Channel]:
        bodies = self._targets.bodies
        channels = []
        for quantity in ("translate", "orient"):
            names = [getattr(body, quantity) for body in bodies]
            paths = [body.path.AppendProperty(name) for body, (name, _) in zip(bodies, names, strict=True)]
            channels += group_channels(quantity, paths, [type_name for _, type_name in names])
        if velocities:
            for quantity, name in (("linear", "physics:velocity"), ("angular", "physics:angularVelocity")):
                paths = [body.path.AppendProperty(name) for body in bodies]
                channels += group_channels(quantity, paths, ["vector3f"] * len(paths))
        for quantity, suffix in (("joint_q", "position"), ("joint_qd", "velocity")):
            names = [f"state:{instance}:physics:{suffix}" for _, instance, _ in joint_dofs]
            types = [_state_type(joint, name) for joint, name in zip(joints, names, strict=True)]
            paths = [joint.GetPath().AppendProperty(name) for joint, name in zip(joints, names, strict=True)]
            channels += group_channels(quantity, paths, types, custom=True)
        return channels

    def _sample_layer(self) -> Sdf.Layer:
        layer = new_layer(self._timing)
        if self._copies is not None:
            layer.TransferContent(self._copies)
        declare(layer, self._channels)
        self._instanced.declare(layer)
        return layer

    def _write_pending(self, *, clip_ends: bool = False) -> None:
        """Write pending frames to the layer; at the end of a clip write its file and begin the next."""
        if not self._pending:
            return
        first = self._written
        time_codes = [self._timing.time_code(index) for index in range(first, self._next)]
        values = self._convert(time_codes)
        self._set_samples(time_codes, values)
        self._pending.clear()
        self._written = self._next
        if clip_ends:
            self._end_clip()
            self._set_samples(time_codes[-1:], {key: array[-1:] for key, array in values.items()})

    def _set_samples(self, time_codes: list[float], values: dict[str, NDArray[np.float64]]) -> None:
        set_samples(self._layer, self._channels, time_codes, values)
        if self._instanced.instancers:
            own = len(self._own)
            names = {"positions": "translate", "orientations": "orient", "orientationsf": "orient"}
            names |= {"velocities": "linear", "angularVelocities": "angular"}
            arrays = {name: values[key][:, own:] for name, key in names.items() if key in values}
            self._instanced.set_samples(self._layer, time_codes, arrays)

    def _convert(self, time_codes: list[float]) -> dict[str, NDArray[np.float64]]:
        frames = {name: np.stack(arrays) for name, arrays in self._pending.items()}
        per_meter = 1.0 / self._meters_per_unit
        own = len(self._own)
        body_q = frames["body_q"][:, self._order]
        position = body_q[..., :3] * per_meter
        rotation = quat_normalize(body_q[..., 3:])
        linear = angular = None
        if self.needs_velocities:
            body_qd = frames["body_qd"][:, self._order]
            linear, angular = body_qd[..., :3] * per_meter, body_qd[..., 3:]
            if self._body_com is not None:
                arm = quat_rotate(rotation[:, :own], self._body_com[self._own] * per_meter)
                linear[:, :own] -= np.cross(angular[:, :own], arm)
        if own < len(self._order):
            # instances are frames that stand still in their bodies
            body = np.concatenate([position[:, own:], rotation[:, own:]], axis=-1)
            frame = transform_multiply(body, self._instanced.offset)
            if linear is not None and angular is not None:
                arm = frame[..., :3] - transform_point(body, self._instanced.com)
                linear[:, own:] += np.cross(angular[:, own:], arm)
            position[:, own:], rotation[:, own:] = frame[..., :3], frame[..., 3:]
        motion = self._local.local(np.asarray(time_codes), position, rotation, linear, angular)
        orient = keep_signs(motion.orient, self._last_orient)
        self._last_orient = orient[-1]
        values = {"translate": motion.translate, "orient": orient}
        if motion.linear is not None and motion.angular is not None:
            values |= {"linear": motion.linear, "angular": np.degrees(motion.angular)}
        if len(self._joint_scale):
            values |= {name: frames[name] * self._joint_scale for name in ("joint_q", "joint_qd")}
        return values

    def _end_clip(self) -> None:
        """Write the samples so far as a clip file."""
        files = self._open_files()
        path = files.clip(len(self._spans))
        start = self._timing.time_code(len(self._spans) * (self._clip_frames or 0))
        self._write_samples(files, path)
        self._spans.append(ClipSpan(path, start))
        self._layer = self._sample_layer()

    def _write_samples(self, files: OutputFiles, path: Path) -> None:
        attributes = [path for channel in self._channels for path in channel.attributes[-1:]]
        attributes += self._instanced.attributes()[-1:]
        witness = None
        if attributes:
            witness = (attributes[-1], self._layer.GetNumTimeSamplesForPath(attributes[-1]))
        files.write(self._layer, path, witness=witness)

    def _write_files(self, files: OutputFiles) -> None:
        end = self._timing.time_code(self._written - 1)
        if self._flatten:
            self._author_constants()
            layer = flatten(self._stage, self._layer, self._timing, end, files.root.parent)
            files.write(layer, files.root)
            return
        if self._clip_frames is not None:
            self._end_clip()
            files.write(self._layer, files.manifest)
            paths = [path for channel in self._channels for path in channel.attributes]
            prims = sorted({path.GetPrefixes()[0] for path in [*paths, *self._instanced.attributes()]})
            author_clips(self._layer, prims, self._spans, files.manifest, end)
        self._author_constants()
        if self._clip_frames is None:
            self._write_samples(files, files.results)
        else:
            files.write(self._layer, files.results)
        sublayers = [f"./{files.results.name}", self._source]
        files.write(root_layer(self._stage, self._timing, end, sublayers), files.root)

    def _author_constants(self) -> None:
        author_targets(self._layer, self._targets)
        author_variants(self._layer, self._stage)
        self._instanced.author_constants(self._layer)

    def _open_files(self) -> OutputFiles:
        if self._files is None:
            raise ValueError("the recorder is closed")
        return self._files


def _check_options(frames: int, fps: float, clips: int | None, flatten: bool) -> None:
    if frames < 0:
        raise UsdSimError(f"the number of frames is negative: {frames}", remedy="give 0 or more")
    if not (math.isfinite(fps) and fps > 0.0):
        raise UsdSimError(f"the frame rate is not positive: {fps}", remedy="give --fps above 0")
    if clips is not None and clips < 1:
        raise UsdSimError(f"a value clip needs at least one frame, not {clips}", remedy="give --clips 1 or more")
    if clips is not None and flatten:
        raise UsdSimError(
            "value clips are several files, a flattened recording is one", remedy="choose --clips or --flatten"
        )


def _rows(name: str, array: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a copy of an array given by the caller, Warp's or numpy's."""
    if array is None:
        raise ValueError(f"{name} is missing")
    copy = np.array(array.numpy() if hasattr(array, "numpy") else array, np.float64)
    if copy.shape != shape:
        raise ValueError(f"{name} has shape {copy.shape} instead of {shape}")
    return copy


def _state_type(joint: Usd.Prim, name: str) -> str:
    """Return the type of a joint state attribute: the source's where it has one."""
    attribute = joint.GetAttribute(name)
    return "double" if attribute and str(attribute.GetTypeName()) == "double" else "float"
