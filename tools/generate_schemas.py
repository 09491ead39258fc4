#!/usr/bin/env python3
"""Makes schemas/generatedSchema.usda and schemas/plugInfo.json from schemas/schema.usda.

Run it after each edit of the source (it needs jinja2, which is in the "dev" extra):

    .venv/bin/python tools/generate_schemas.py            # write both files
    .venv/bin/python tools/generate_schemas.py --check    # write nothing; exit code 1 when they are stale

USD's own generator does the work. Of an attribute it keeps type, fallback, allowed tokens and limits, and drops the
documentation beyond its first sentence and all custom data. The whole documentation and the units are put back here, so
that editors see them through ``Usd.Attribute.GetDocumentation()`` and ``GetCustomDataByKey("units")``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pxr import Sdf, Usd

FOLDER = Path(__file__).resolve().parents[1] / "schemas"
SOURCE = "schema.usda"
REGISTRY = "generatedSchema.usda"
PLUGIN = "plugInfo.json"
NOTICE = "Made from schema.usda by tools/generate_schemas.py: edit that, not this."
PLACEHOLDERS = {"LibraryPath": "", "ResourcePath": ".", "Root": "."}
"""What stands in plugInfo.json for the placeholders of USD's build system: everything lies beside the file."""


def run_usd_generator(source: Path, folder: Path) -> None:
    """Runs usdGenSchema on a copy of the source, so that no path of this checkout gets into its output."""
    shutil.copyfile(source, folder / SOURCE)
    generator = Path(Usd.__file__).with_name("usdGenSchema.py")
    # The generator must not meet these very schemas as registered ones.
    environment = {name: value for name, value in os.environ.items() if name != "PXR_PLUGINPATH_NAME"}
    command = [sys.executable, str(generator), "--quiet", SOURCE, "."]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or not (folder / REGISTRY).is_file():
        raise SystemExit(f"usdGenSchema failed:\n{done.stdout}{done.stderr}")


def restore_documentation(layer: Sdf.Layer, source: Sdf.Layer) -> None:
    """Puts back what usdGenSchema dropped: whole documentation, and units as custom data."""
    for schema in layer.rootPrims:
        for generated in (schema, *schema.properties):
            authored = source.GetObjectAtPath(generated.path)
            generated.documentation = authored.documentation
            # USD prefers the brief text to the whole where it finds both.
            del generated.customData["userDocBrief"]
            if "units" in authored.customData:
                generated.customData["units"] = authored.customData["units"]
    layer.comment = NOTICE


def plugin_text(generated: str) -> str:
    """The generated plugInfo.json without comment lines and placeholders, in plain JSON."""
    info = json.loads("\n".join(line for line in generated.splitlines() if not line.lstrip().startswith("#")))
    for plugin in info["Plugins"]:
        plugin.update(PLACEHOLDERS)
    return json.dumps(info, indent=4, sort_keys=True) + "\n"


def generate(source: Path = FOLDER / SOURCE) -> dict[str, str]:
    """Returns the text of both files by their names, and writes nothing.

    Raises:
        SystemExit: The generator refused the source; the message is its output.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_usd_generator(source, folder)
        layer = Sdf.Layer.OpenAsAnonymous(str(folder / REGISTRY))
        restore_documentation(layer, Sdf.Layer.OpenAsAnonymous(str(folder / SOURCE)))
        return {REGISTRY: layer.ExportToString(), PLUGIN: plugin_text((folder / PLUGIN).read_text("utf-8"))}


def main() -> int:
    """Writes or checks the files; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 when a file is stale")
    check = parser.parse_args().check
    code = 0
    for name, text in generate().items():
        target = FOLDER / name
        if target.is_file() and target.read_text("utf-8") == text:
            continue
        if check:
            print(f"schemas/{name} is stale: run tools/generate_schemas.py")
            code = 1
        else:
            target.write_text(text, "utf-8")
            print(f"wrote schemas/{name}")
    return code


if __name__ == "__main__":
    sys.exit(main())
