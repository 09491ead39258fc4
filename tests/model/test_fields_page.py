"""docs/fields.md says what the table says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from usd_sim.model.fields import field_table

ROOT = Path(__file__).resolve().parents[2]


def generator() -> ModuleType:
    """Return tools/generate_docs.py as a module."""
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "tools" / "generate_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_what_the_table_makes():
    stale = "stale: run tools/generate_docs.py"
    assert (ROOT / "docs" / "fields.md").read_text(encoding="utf-8") == generator().page(), stale


def test_every_field_has_one_line_with_its_unit():
    lines = generator().page().splitlines()
    for field in field_table():
        mine = [line for line in lines if line.startswith(f"| `{field.name}` |")]
        assert len(mine) == 1
        assert field.doc in mine[0].replace("\\|", "|")
        assert f"| {field.unit} |" in mine[0].replace("\\|", "|")


def test_check_finds_a_stale_page(tmp_path, monkeypatch, capsys):
    module = generator()
    monkeypatch.setattr(module, "PAGE", tmp_path / "fields.md")
    assert module.main(["--check"]) == 1
    assert "stale" in capsys.readouterr().err
    assert module.main([]) == 0
    assert module.main(["--check"]) == 0
    (tmp_path / "fields.md").write_text("other", encoding="utf-8")
    assert module.main(["--check"]) == 1
