"""Settings of SolverMuJoCo."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco

from usd_sim.errors import ExitCode, UsdSimError

__all__ = ["MuJoCoConfig"]

_CHOICES: dict[str, dict[str, int]] = {
    "integrator": {
        "euler": mujoco.mjtIntegrator.mjINT_EULER,
        "rk4": mujoco.mjtIntegrator.mjINT_RK4,
        "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
        "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    },
    "cone": {"pyramidal": mujoco.mjtCone.mjCONE_PYRAMIDAL, "elliptic": mujoco.mjtCone.mjCONE_ELLIPTIC},
    "solver": {
        "pgs": mujoco.mjtSolver.mjSOL_PGS,
        "cg": mujoco.mjtSolver.mjSOL_CG,
        "newton": mujoco.mjtSolver.mjSOL_NEWTON,
    },
    "jacobian": {
        "auto": mujoco.mjtJacobian.mjJAC_AUTO,
        "dense": mujoco.mjtJacobian.mjJAC_DENSE,
        "sparse": mujoco.mjtJacobian.mjJAC_SPARSE,
    },
}

_AT_LEAST: dict[str, float] = {
    "iterations": 1,
    "ls_iterations": 1,
    "noslip_iterations": 0,
    "ccd_iterations": 1,
    "tolerance": 0.0,
    "ls_tolerance": 0.0,
    "density": 0.0,
    "viscosity": 0.0,
    "ccd_tolerance": 0.0,
    "noslip_tolerance": 0.0,
    "sdf_iterations": 1,
    "sdf_initpoints": 1,
    "override_margin": 0.0,
    "memory_mb": 1,
    "nconmax": 1,
    "njmax": 1,
}

_LENGTHS = {"wind": 3, "magnetic": 3, "override_friction": 5, "override_solref": 2, "override_solimp": 5}

_COPIED = (
    "iterations", "ls_iterations", "noslip_iterations", "ccd_iterations", "tolerance", "ls_tolerance", "ccd_tolerance",
    "noslip_tolerance", "sdf_iterations", "sdf_initpoints", "density", "viscosity", "impratio",
)  # fmt: skip
"""Settings that MuJoCo calls the same."""


def _flags(kind: Any, prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix).lower(): int(bit) for name, bit in kind.__members__.items() if prefix in name}


DISABLE = _flags(mujoco.mjtDisableBit, "mjDSBL_")
ENABLE = _flags(mujoco.mjtEnableBit, "mjENBL_")


@dataclass(frozen=True)
class MuJoCoConfig:
    """Settings of SolverMuJoCo; defaults are MuJoCo's own but for the integrator.

    Attributes:
        integrator: "euler", "rk4", "implicit" or "implicitfast"; the last is the most stable for stiff drives.
        solver: Constraint solver: "newton", "cg" or "pgs".
        cone: Friction cone: "pyramidal" or "elliptic". Elliptic cones slip less under load and cost more.
        jacobian: Storage of constraint Jacobians: "auto", "dense" or "sparse".
        iterations: Largest number of iterations of the constraint solver.
        ls_iterations: Largest number of line-search iterations.
        noslip_iterations: Iterations of the pass that removes slip; 0 turns it off.
        ccd_iterations: Largest number of iterations of convex collision.
        tolerance: Improvement of the cost at which the constraint solver stops.
        ls_tolerance: Gradient at which the line search stops.
        impratio: Ratio of frictional to normal impedance; above 1 reduces slip of elliptic cones.
        enable_multiccd: Find several contacts per pair of convex shapes rather than one.
        disable_contacts: Find no contacts.
        enable_islands: Solve groups of bodies that do not touch separately (native MuJoCo alone).
        filter_parent: Bodies that joints hold to each other do not collide, whatever the model says.
        disable: Further parts of MuJoCo that are turned off, by the name of their flag: "limit", "damper", ...
        enable: Parts of MuJoCo that are turned on, by the name of their flag: "energy", "override", ...
        disabled_actuator_groups: Groups of actuators that do nothing, 0 to 30.
        density: Density of the medium [kg/m³].
        viscosity: Viscosity of the medium [kg/(m·s)].
        wind: Velocity of the medium [m/s].
        magnetic: Magnetic field, for sensors.
        ccd_tolerance: Tolerance of convex collision.
        noslip_tolerance: Tolerance of the pass that removes slip.
        sdf_iterations: Iterations of collision with signed distance fields.
        sdf_initpoints: Starting points of collision with signed distance fields.
        override_margin: Contact margin of all shapes where "override" is enabled [m].
        override_solref: Contact reference of all shapes where "override" is enabled; None keeps MuJoCo's.
        override_solimp: Contact impedance of all shapes where "override" is enabled; None keeps MuJoCo's.
        override_friction: Friction of all contacts where "override" is enabled; None keeps MuJoCo's.
        include_visuals: Also give MuJoCo the shapes that do not collide; only of use to ``save_mjcf``.
        memory_mb: Room for contacts and constraints in native MuJoCo [MB]; None sizes it from the model.
        nconmax: Largest number of contacts in MuJoCo Warp; None sizes it from the model.
        njmax: Largest number of constraint rows in MuJoCo Warp; None sizes it from the model.
    """

    integrator: str = "implicitfast"
    solver: str = "newton"
    cone: str = "pyramidal"
    jacobian: str = "auto"
    iterations: int = 100
    ls_iterations: int = 50
    noslip_iterations: int = 0
    ccd_iterations: int = 35
    tolerance: float = 1.0e-8
    ls_tolerance: float = 0.01
    impratio: float = 1.0
    enable_multiccd: bool = True
    disable_contacts: bool = False
    enable_islands: bool = True
    filter_parent: bool = False
    disable: tuple[str, ...] = ()
    enable: tuple[str, ...] = ()
    disabled_actuator_groups: tuple[int, ...] = ()
    density: float = 0.0
    viscosity: float = 0.0
    wind: tuple[float, ...] = (0.0, 0.0, 0.0)
    magnetic: tuple[float, ...] = (0.0, -0.5, 0.0)
    ccd_tolerance: float = 1.0e-6
    noslip_tolerance: float = 1.0e-6
    sdf_iterations: int = 10
    sdf_initpoints: int = 40
    override_margin: float = 0.0
    override_solref: tuple[float, ...] | None = None
    override_solimp: tuple[float, ...] | None = None
    override_friction: tuple[float, ...] | None = None
    include_visuals: bool = False
    memory_mb: int | None = None
    nconmax: int | None = None
    njmax: int | None = None

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise _wrong(name, getattr(self, name), f"choose one of: {', '.join(choices)}")
        for spec in dataclasses.fields(self):
            self._check_number(spec.name, str(spec.type))
        for name, choices in (("disable", DISABLE), ("enable", ENABLE)):
            if not set(getattr(self, name)) <= set(choices):
                raise _wrong(name, getattr(self, name), f"choose from: {', '.join(choices)}")
        for name, count in _LENGTHS.items():
            if getattr(self, name) is not None and len(getattr(self, name)) != count:
                raise _wrong(name, getattr(self, name), f"give {count} numbers")
        if not all(0 <= group <= 30 for group in self.disabled_actuator_groups):
            raise _wrong("disabled_actuator_groups", self.disabled_actuator_groups, "give numbers from 0 to 30")
        if not self.impratio > 0:
            raise _wrong("impratio", self.impratio, "give a number above 0")

    def _check_number(self, name: str, annotation: str) -> None:
        value = getattr(self, name)
        if value is None and "None" in annotation:
            return
        if annotation == "bool":
            if not isinstance(value, bool):
                raise _wrong(name, value, "give True or False")
        elif annotation.startswith(("int", "float")):
            kinds = (int, float) if annotation == "float" else (int,)
            low = _AT_LEAST.get(name)
            if isinstance(value, bool) or not isinstance(value, kinds):
                raise _wrong(name, value, f"give {'a number' if annotation == 'float' else 'an integer'}")
            if low is not None and not value >= low:
                raise _wrong(name, value, f"give at least {low:g}")

    @classmethod
    def from_options(cls, options: Mapping[str, Any], base: MuJoCoConfig | None = None) -> MuJoCoConfig:
        """Return a configuration with some settings replaced.

        Args:
            options: Settings by name.
            base: What to start from; the defaults if not given.

        Raises:
            UsdSimError: A name or value is wrong; the message states the allowed ones.
        """
        known = [spec.name for spec in dataclasses.fields(cls)]
        for name in options:
            if name not in known:
                raise UsdSimError(
                    f"SolverMuJoCo has no setting {name!r}",
                    remedy=f"choose from: {', '.join(known)}",
                    exit_code=ExitCode.USAGE,
                )
        return dataclasses.replace(base or cls(), **options)

    def write_options(self, option: Any) -> None:
        """Write the settings into an ``option`` block of MuJoCo."""
        for name, choices in _CHOICES.items():
            setattr(option, name, int(choices[getattr(self, name)]))
        for name in _COPIED:
            setattr(option, name, getattr(self, name))
        option.wind, option.magnetic, option.o_margin = self.wind, self.magnetic, self.override_margin
        for name in ("solref", "solimp", "friction"):
            if getattr(self, f"override_{name}") is not None:
                setattr(option, f"o_{name}", getattr(self, f"override_{name}"))
        off = {
            "autoreset": True,  # divergence is to be seen rather than reset
            "filterparent": not self.filter_parent,
            "contact": self.disable_contacts,
            "multiccd": not self.enable_multiccd,
            "island": not self.enable_islands,
            **dict.fromkeys(self.disable, True),
        }
        option.disableflags = sum(DISABLE[name] for name, is_off in off.items() if is_off)
        option.enableflags = sum(ENABLE[name] for name in set(self.enable))
        option.disableactuator = sum(1 << group for group in set(self.disabled_actuator_groups))


def _wrong(name: str, value: Any, remedy: str) -> UsdSimError:
    return UsdSimError(f"SolverMuJoCo setting {name} cannot be {value!r}", remedy=remedy, exit_code=ExitCode.USAGE)
