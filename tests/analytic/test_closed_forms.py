"""Simulations against closed forms, in metres and in centimetres, grams and Y up."""

from __future__ import annotations

import numpy as np
import pytest
from analytic.scenes import CENTIMETRES, METRES, Scene, Units

import usd_sim

G = 9.81
UNITS = pytest.mark.parametrize("units", [METRES, CENTIMETRES], ids=["metres", "centimetres"])

EULER_ERROR = 1.0
"""Semi-implicit Euler is off by g·dt·t/2 in a fall: one step's worth of the final speed, times one half."""

SAME = 1e-5
"""Relative difference allowed between one scene in two systems of units: single precision of the authored values."""


def fall(path, units: Units, seconds: float = 1.0) -> np.ndarray:
    """Return the position after a free fall from rest at (0.5, -0.25, 10)."""
    scene = Scene(path, units)
    box = scene.box("Box", (0.1, 0.2, 0.3), (0.5, -0.25, 10.0), mass=2.0)
    simulation = usd_sim.Simulation(scene.save())
    simulation.advance(seconds)
    return units.back(simulation.body_pose(box)[0])


@UNITS
def test_free_fall(tmp_path, units):
    dt, seconds = 1e-3, 1.0
    position = fall(tmp_path / "fall.usda", units, seconds)
    expected = (0.5, -0.25, 10.0 - 0.5 * G * seconds * (seconds + dt))  # exact sum of semi-implicit Euler
    np.testing.assert_allclose(position, expected, rtol=SAME)
    assert abs(position[2] - (10.0 - 0.5 * G * seconds**2)) < EULER_ERROR * 0.5 * G * dt * seconds * 1.01


def test_free_fall_is_the_same_in_both_units(tmp_path):
    a, b = fall(tmp_path / "a.usda", METRES), fall(tmp_path / "b.usda", CENTIMETRES)
    np.testing.assert_allclose(a, b, rtol=SAME)


def throw(path, units: Units) -> np.ndarray:
    """Return the track of a projectile, one row per 0.1 s."""
    scene = Scene(path, units)
    box = scene.box("Box", (0.1, 0.1, 0.1), (0.0, 0.0, 2.0), mass=1.0, velocity=(3.0, 1.0, 5.0))
    simulation = usd_sim.Simulation(scene.save())
    track = []
    for _ in range(10):
        simulation.advance(0.1)
        track.append(units.back(simulation.body_pose(box)[0]))
    return np.array(track)


@UNITS
def test_projectile(tmp_path, units):
    track = throw(tmp_path / "throw.usda", units)
    t, dt = 0.1 * np.arange(1, 11), 1e-3
    expected = np.stack([3.0 * t, 1.0 * t, 2.0 + 5.0 * t - 0.5 * G * t * (t + dt)], axis=1)
    np.testing.assert_allclose(track, expected, atol=2e-5)  # 1e-5 of the 2 m that the track spans


def test_projectile_is_the_same_in_both_units(tmp_path):
    a, b = throw(tmp_path / "a.usda", METRES), throw(tmp_path / "b.usda", CENTIMETRES)
    np.testing.assert_allclose(a, b, rtol=SAME, atol=SAME * np.abs(a).max())


def swing(path, units: Units) -> tuple[np.ndarray, np.ndarray]:
    """Return times and horizontal displacement of a thin rod hung by its upper end and nudged to a small swing."""
    length = 1.0
    scene = Scene(path, units, rate=2000)
    rod = scene.box(
        "Rod", (0.01, 0.01, length / 2), (0.0, 0.0, 0.0), mass=1.5, velocity=(-0.05, 0.0, 0.0), spin=(0.0, 0.1, 0.0)
    )
    scene.hinge(rod, (0.0, 0.0, length / 2))
    simulation = usd_sim.Simulation(scene.save())
    times, track = [], []
    for i in range(800):
        simulation.advance(0.005)
        times.append(0.005 * (i + 1))
        track.append(units.back(simulation.body_pose(rod)[0])[0])
    return np.array(times), np.array(track)


def period_of(times: np.ndarray, track: np.ndarray) -> float:
    """Return the mean distance of upward zero crossings."""
    up = np.flatnonzero((track[:-1] < 0) & (track[1:] >= 0))
    crossings = times[up] - track[up] * (times[up + 1] - times[up]) / (track[up + 1] - track[up])
    return float(np.diff(crossings).mean())


@UNITS
def test_pendulum_period(tmp_path, units):
    times, track = swing(tmp_path / "swing.usda", units)
    inertia = 1.5 * (1.0**2 + 0.02**2) / 12 + 1.5 * 0.5**2  # thin box about its end
    expected = 2 * np.pi * np.sqrt(inertia / (1.5 * G * 0.5))
    assert period_of(times, track) == pytest.approx(expected, rel=0.002)  # the issue asks 1 %; amplitude adds 2e-4


def test_pendulum_is_the_same_in_both_units(tmp_path):
    (_, a), (_, b) = swing(tmp_path / "a.usda", METRES), swing(tmp_path / "b.usda", CENTIMETRES)
    np.testing.assert_allclose(a, b, rtol=SAME, atol=SAME * np.abs(a).max())


def rest(path, units: Units) -> np.ndarray:
    """Return the track of a box set down on the ground over 5 s."""
    scene = Scene(path, units)
    scene.ground()
    box = scene.box("Box", (0.25, 0.25, 0.25), (0.3, -0.2, 0.25), mass=10.0)
    simulation = usd_sim.Simulation(scene.save())
    track = []
    for _ in range(50):
        simulation.advance(0.1)
        track.append(units.back(simulation.body_pose(box)[0]))
    return np.array(track)


@UNITS
def test_box_at_rest(tmp_path, units):
    track = rest(tmp_path / "rest.usda", units)
    penetration = 0.25 - track[:, 2]
    assert penetration.max() < 1e-3
    assert penetration.min() > -1e-4  # it does not hover
    np.testing.assert_allclose(track[:, :2], [[0.3, -0.2]] * 50, atol=1e-6)  # no drift
    assert np.ptp(track[10:, 2]) < 1e-6  # settled after a second


def test_box_at_rest_is_the_same_in_both_units(tmp_path):
    a, b = rest(tmp_path / "a.usda", METRES), rest(tmp_path / "b.usda", CENTIMETRES)
    np.testing.assert_allclose(a, b, rtol=SAME)
