"""The layers of a recording: results over the source, value clips, and the flattened form."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pxr import Gf, Sdf, Tf, Usd, UsdUtils, Vt

from usd_sim.errors import UsdSimError
from usd_sim.record.targets import Targets, scale_value

__all__ = [
    "ClipSpan",
    "Timing",
    "author_clips",
    "author_targets",
    "flatten",
    "new_layer",
    "root_layer",
    "source_reference",
    "stage_notes",
]

_ROOT_METADATA = (
    "metersPerUnit",
    "kilogramsPerUnit",
    "upAxis",
    "framesPerSecond",
    "defaultPrim",
    "expressionVariables",
    "colorConfiguration",
    "colorManagementSystem",
    "renderSettingsPrimPath",
    "customLayerData",
)
"""Metadata that USD reads from the root layer alone, and which the new root must therefore repeat."""

_CLIP_SET = "usd_sim"


@dataclass(frozen=True)
class Timing:
    """Where the samples of a recording lie.

    Attributes:
        start: Time code of sample 0.
        time_codes_per_second: Of the source.
        fps: Samples per second.
    """

    start: float
    time_codes_per_second: float
    fps: float

    def time_code(self, index: int) -> float:
        """Return the time code of a sample."""
        return self.start + index * self.time_codes_per_second / self.fps


@dataclass(frozen=True)
class ClipSpan:
    """One file of a clip set, in force from the time code ``start`` on."""

    path: Path
    start: float


def stage_notes(stage: Usd.Stage) -> list[str]:
    """Return what the stage shows that its files do not, one line each."""
    notes = []
    session = set(stage.GetLayerStack(includeSessionLayers=True)) - set(stage.GetLayerStack(includeSessionLayers=False))
    if any(_has_edits(layer) for layer in session):
        notes.append("edits in the stage's session layer are simulated but are not part of the recording")
    for layer in stage.GetUsedLayers():
        if layer.dirty and layer not in session:
            notes.append(
                f"{layer.identifier}: unsaved edits are simulated but are not in the file that the recording refers to"
            )
    return notes


def _has_edits(layer: Sdf.Layer) -> bool:
    """Whether a session layer says more than variant selections, which recordings take over."""
    found = [bool(layer.pseudoRoot.ListInfoKeys())]
    _visit(layer, lambda spec: found.append(bool(spec.properties or set(spec.ListInfoKeys()) - _SELECTING)))
    return any(found)


_SELECTING = {"specifier", "variantSelection"}


def author_variants(layer: Sdf.Layer, stage: Usd.Stage) -> None:
    """Repeat the variant selections of a stage's session layer, which are part of what was simulated."""

    def repeat(spec: Sdf.PrimSpec) -> None:
        for name, variant in dict(spec.variantSelections).items():
            Sdf.CreatePrimInLayer(layer, spec.path).variantSelections[name] = variant

    _visit(stage.GetSessionLayer(), repeat)


def _visit(layer: Sdf.Layer, call: Callable[[Sdf.PrimSpec], object]) -> None:
    pending = list(layer.rootPrims)
    while pending:
        spec = pending.pop()
        pending += list(spec.nameChildren)
        call(spec)


def new_layer(timing: Timing) -> Sdf.Layer:
    """Return an empty layer in memory with the source's time scale, so that nothing is rescaled under the root."""
    layer = Sdf.Layer.CreateAnonymous(".usdc")
    layer.timeCodesPerSecond = timing.time_codes_per_second
    return layer


def author_targets(layer: Sdf.Layer, targets: Targets) -> None:
    """Author what does not change with time: op orders, decomposed scales, and instances made editable."""
    with Sdf.ChangeBlock():
        for path in targets.instances:
            Sdf.CreatePrimInLayer(layer, path).instanceable = False
        for row, body in enumerate(targets.bodies):
            if body.scale is not None:
                name, type_name = body.scale
                spec = _attribute(layer, body.path, name, type_name)
                spec.default = scale_value(type_name, targets.layout.scale[row])
            if body.order is not None:
                spec = _attribute(layer, body.path, "xformOpOrder", "token[]", Sdf.VariabilityUniform)
                spec.default = Vt.TokenArray(body.order)


def author_clips(
    layer: Sdf.Layer, prims: Sequence[Sdf.Path], spans: Sequence[ClipSpan], manifest: Path, end: float
) -> None:
    """Make prims read the samples of themselves and all below from clip files beside the layer.

    Args:
        layer: Results layer.
        prims: Root prims of all that was recorded.
        spans: Files in order of time; each ends with the first sample of the next.
        manifest: File that declares the attributes.
        end: Time code of the last sample.
    """
    for path in prims:
        clip_set = {
            "assetPaths": Sdf.AssetPathArray([Sdf.AssetPath(f"./{span.path.name}") for span in spans]),
            "manifestAssetPath": Sdf.AssetPath(f"./{manifest.name}"),
            "primPath": str(path),
            "active": Vt.Vec2dArray([Gf.Vec2d(span.start, index) for index, span in enumerate(spans)]),
            "times": Vt.Vec2dArray([Gf.Vec2d(spans[0].start), Gf.Vec2d(end)]),
        }
        Sdf.CreatePrimInLayer(layer, path).SetInfo("clips", {_CLIP_SET: clip_set})


def root_layer(stage: Usd.Stage, timing: Timing, end: float, sublayers: Sequence[str]) -> Sdf.Layer:
    """Return the root of a recording.

    Args:
        stage: The source.
        timing: Of the samples.
        end: Time code of the last sample; the source's own range is kept where it is longer.
        sublayers: Layer paths, strongest first.
    """
    source = stage.GetRootLayer()
    layer = Sdf.Layer.CreateAnonymous(".usda")
    for key in _ROOT_METADATA:
        if source.pseudoRoot.HasInfo(key):
            layer.pseudoRoot.SetInfo(key, source.pseudoRoot.GetInfo(key))
    if not source.HasFramesPerSecond():
        layer.framesPerSecond = timing.fps
    layer.timeCodesPerSecond = timing.time_codes_per_second
    layer.startTimeCode = min(timing.start, source.startTimeCode) if source.HasStartTimeCode() else timing.start
    layer.endTimeCode = max(end, source.endTimeCode) if source.HasEndTimeCode() else end
    layer.subLayerPaths[:] = list(sublayers)
    return layer


def source_reference(stage: Usd.Stage, folder: Path) -> str:
    """Return the path by which a layer in a folder should refer to the stage's root layer.

    Raises:
        UsdSimError: The stage is only in memory.
    """
    source = stage.GetRootLayer()
    if source.anonymous:
        raise UsdSimError(
            "the stage is only in memory, so the recording has no file to refer to",
            remedy="save the stage to a file first, or record with --flatten",
        )
    if not source.realPath:
        return source.identifier
    return _relative(source.realPath, folder)


def flatten(stage: Usd.Stage, results: Sdf.Layer, timing: Timing, end: float, folder: Path) -> Sdf.Layer:
    """Return results over the source as one layer without composition arcs.

    Args:
        stage: The source.
        results: Results layer in memory.
        timing: Of the samples.
        end: Time code of the last sample.
        folder: Folder of the file to be, from which files such as textures are referred to.
    """
    root = root_layer(stage, timing, end, [results.identifier, stage.GetRootLayer().identifier])
    try:
        composed = Usd.Stage.Open(root, sessionLayer=None)
        layer = composed.Flatten(addSourceFileComment=False)
    except Tf.ErrorException as error:
        raise UsdSimError(f"the stage cannot be flattened: {str(error).strip().splitlines()[-1]}") from error
    UsdUtils.ModifyAssetPaths(layer, lambda path: _relative(path, folder))
    return layer


def _relative(path: str, folder: Path) -> str:
    """Return an absolute path as a layer in a folder should say it: relative where that leads there for everybody.

    USD takes ``..`` off paths as text. Where links make that differ from the folders on disk, and on another drive,
    the path stays absolute.
    """
    if not os.path.isabs(path):
        return path
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    try:
        relative = os.path.relpath(path, folder)
        if relative != os.path.relpath(real, os.path.realpath(folder)):
            relative = real
    except ValueError:
        relative = real
    relative = relative.replace(os.sep, "/")
    return relative if os.path.isabs(relative) or relative.startswith("../") else f"./{relative}"


def _attribute(
    layer: Sdf.Layer, path: Sdf.Path, name: str, type_name: str, variability: Sdf.Variability = Sdf.VariabilityVarying
) -> Sdf.AttributeSpec:
    prim = Sdf.CreatePrimInLayer(layer, path)
    return Sdf.AttributeSpec(prim, name, Sdf.ValueTypeNames.Find(type_name), variability)
