"""Shapes without a stage or a solver: transforms, mass properties, meshes, hulls, tessellated primitives."""
