"""Points as colliders: one sphere per point."""

from __future__ import annotations

import numpy as np
from pxr import UsdGeom

from usd_sim.geometry import transforms as tf
from usd_sim.geometry.types import GeoType
from usd_sim.stage.read.parts import Parts
from usd_sim.stage.read.scan import Scan

__all__ = ["PointsReader"]


class PointsReader:
    """Reads Points prims that are colliders.

    Args:
        scan: What was found on the stage.
    """

    def __init__(self, scan: Scan):
        self.scan = scan
        self._found: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def load(self, path: str) -> bool:
        """Read the points of one prim and return whether it can be a collider; if not, the report says why."""
        geometry, report = UsdGeom.Points(self.scan.prim(path)), self.scan.report
        points = np.asarray(geometry.GetPointsAttr().Get(self.scan.time) or (), dtype=float).reshape(-1, 3)
        primvar = UsdGeom.PrimvarsAPI(geometry).GetPrimvar("widths")
        widths = primvar.Get(self.scan.time) if primvar else geometry.GetWidthsAttr().Get(self.scan.time)
        width = np.asarray(widths if widths is not None else (), dtype=float).ravel()
        if len(points) == 0:
            report.ignore(path, "the points collider has no points", remedy="author points")
        elif len(width) == 0:
            report.ignore(path, "the points collider has no widths, so no size", remedy="author widths")
        elif len(width) not in (1, len(points)):
            report.error(
                path,
                f"has {len(points)} points and {len(width)} widths",
                property="widths",
                remedy="author one width, or one per point",
            )
        elif not (np.isfinite(points).all() and np.isfinite(width).all() and (width > 0).all()):
            report.error(path, "a point or width is not finite, or a width is not positive", remedy="repair the points")
        else:
            self._found[path] = points, np.broadcast_to(width, len(points))
            return True
        return False

    def parts(self, path: str, scale: np.ndarray, tolerance: float) -> Parts:
        """Return the spheres of a prim; ellipsoids where the scale is not uniform.

        Args:
            path: A prim that was loaded.
            scale: From its points to metres, along its axes (3,).
            tolerance: Relative difference of scales below which they count as uniform.
        """
        points, width = self._found[path]
        radii = 0.5 * width[:, None] * np.abs(scale)
        stretched = np.ptp(np.abs(scale)) > tolerance * np.abs(scale).max()
        kind = GeoType.ELLIPSOID if stretched else GeoType.SPHERE
        pose = tf.identity_transform(len(points))
        pose[:, :3] = points * scale
        sizes = radii if stretched else radii[:, :1] * (1.0, 0.0, 0.0)
        return Parts(np.full(len(points), int(kind)), pose, sizes, [None] * len(points), weigh=True)
