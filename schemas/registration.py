"""Makes the schemas known to USD in this process, beside or instead of the package newton-usd-schemas.

USD reads all schemas once, when the first prim is looked at, into its schema registry; a plugin that is registered
later is accepted and has no effect. Two plugins must not declare the same types: the second one to come raises, once,
and the first one holds. Both are facts of USD 26.11 that the tests keep watch over.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import warnings
from collections.abc import Iterator
from pathlib import Path

from pxr import Plug, Sdf, Tf, Usd

from usd_sim.errors import UsdSimWarning
from usd_sim.schemas.definitions import FOLDER, definitions

__all__ = ["path", "provider", "register", "registry_loaded"]

OTHER_PACKAGE = "newton_usd_schemas"
"""The package that brings the same schemas; importing it registers them."""

_warned: set[str] = set()
_done: set[str] = set()


def path() -> Path:
    """Folder to name in ``PXR_PLUGINPATH_NAME``, in a checkout as in an installed package.

    Its plugInfo.json includes the schemas and whatever other USD plugins come with usd-sim.
    """
    parent = FOLDER.parent
    return parent if (parent / "plugInfo.json").is_file() else FOLDER


def registry_loaded() -> bool:
    """Whether USD has read its schemas already. Asking does not make it read them.

    The registry keeps the layers that it was read from, anonymous ones; USD's own holds the base of all API schemas.
    """
    layers = [layer for layer in Sdf.Layer.GetLoadedLayers() if layer]  # some may be on their way out
    return any(layer.anonymous and layer.GetPrimAtPath("/APISchemaBase") for layer in layers)


def provider() -> str | None:
    """Name of the USD plugin that declares the schemas in this process: ours, another one's, or None."""
    for schema in definitions():
        declared = _declared_type(schema.name)
        if not declared.isUnknown:
            plugin = Plug.Registry().GetPluginForType(declared)
            return plugin.name if plugin else None
    return None


def register() -> bool:
    """Makes the Newton schemas known to USD. Call it before any prim of any stage is looked at; more calls do no harm.

    Where newton-usd-schemas is installed its schemas are taken, under the same names, and a later import of it is
    harmless. The same holds for any plugin that has declared them before.

    Returns:
        Whether the schemas take effect in this process. If not, a :class:`~usd_sim.errors.UsdSimWarning` has told why:
        USD had read its schemas before. Attributes that a stage authors can be read all the same; fallbacks, schemas
        that come with others, and names in ``GetAppliedSchemas()`` are missing.
    """
    if "registered" in _done:
        return True
    late = registry_loaded()
    _adopt_other_package()
    if provider() is None and not late:
        Plug.Registry().RegisterPlugins(str(FOLDER))
    if late and not _in_registry(definitions()[0].name):
        _warn_once(
            "the Newton schemas were registered too late to take effect: "
            "call usd_sim.schemas.register() before the first stage is opened"
        )
        return False
    missing = [schema.name for schema in definitions() if _declared_type(schema.name).isUnknown]
    if missing:
        _warn_once(f"the USD plugin '{provider()}' lacks schemas that usd-sim reads: {', '.join(missing)} (update it)")
    _done.add("registered")
    return True


def _declared_type(name: str) -> Tf.Type:
    """The type that some plugin declares for a schema name. Does not load the schema registry."""
    return Tf.Type.FindByName("UsdSchemaBase").FindDerivedByName(name)


def _in_registry(name: str) -> bool:
    """Whether the loaded schema registry knows an API schema."""
    return Usd.SchemaRegistry().FindAppliedAPIPrimDefinition(name) is not None


def _adopt_other_package() -> None:
    """Registers newton-usd-schemas if it is installed.

    Its import fails once if the types are declared already (say, by ours through ``PXR_PLUGINPATH_NAME``) and succeeds
    from then on: it is done here so that it does not fail in somebody else's hands. So is the look at all plugins,
    which fails once if the package was imported before USD had looked at that variable.
    """
    with _duplicates_tolerated():
        Plug.Registry().GetAllPlugins()
    if importlib.util.find_spec(OTHER_PACKAGE) is None:
        return
    with _duplicates_tolerated(), contextlib.suppress(ImportError):
        importlib.import_module(OTHER_PACKAGE)


@contextlib.contextmanager
def _duplicates_tolerated() -> Iterator[None]:
    """Passes over the complaint that a plugin declares types again; other complaints become warnings."""
    try:
        yield
    except Tf.ErrorException as error:
        for line in str(error).splitlines():
            # Before the message stands the place in USD's own source.
            message = line.partition(" : '")[2].rstrip("'")
            if message and "previously provided by plugin" not in message:
                _warn_once(f"a USD plugin could not be registered: {message}")


def _warn_once(message: str) -> None:
    if message not in _warned:
        _warned.add(message)
        warnings.warn(message, UsdSimWarning, stacklevel=3)
