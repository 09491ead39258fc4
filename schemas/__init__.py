"""The Newton schema family as codeless USD schemas: registration, and a readable copy of every definition.

``schema.usda`` is the source; tools/generate_schemas.py makes ``generatedSchema.usda`` and ``plugInfo.json`` from it.
USD reads these two alone: any program understands the schemas once the environment variable ``PXR_PLUGINPATH_NAME``
names the folder :func:`path`, and a Python process also once :func:`register` has run in it.
"""

from usd_sim.schemas.definitions import PropertyDefinition, SchemaDefinition, definitions, properties
from usd_sim.schemas.document import markdown
from usd_sim.schemas.registration import path, provider, register

__all__ = [
    "PropertyDefinition",
    "SchemaDefinition",
    "definitions",
    "markdown",
    "path",
    "properties",
    "provider",
    "register",
]
