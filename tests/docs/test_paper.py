"""The report as a PDF: its text for pandoc, and the PDF itself where the programs are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tools import paper

PAGE = """See [plan](plan.md#top), [data](../results/hour) and [home](https://example.org/a.md).

<!-- results: front -->
| task | success |
|---|---:|
| a long name | 97 |
<!-- end -->
"""


def test_columns_are_as_wide_as_their_text_and_links_lead_out() -> None:
    text = paper.prepared(PAGE)
    assert f"[plan]({paper.PAGES}plan.md#top)" in text
    assert "[data](https://github.com/goalsets/goalsets/blob/main/results/hour)" in text
    assert "(https://example.org/a.md)" in text
    assert "|-----------|-------:|\n| a long name | 97 |\n" in text
    assert "<!--" not in text


def test_missing_programs_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paper.shutil, "which", lambda _: None)
    assert paper.main(["report.pdf"]) == 1
    assert "pandoc and xelatex not found. On Debian: apt install pandoc" in capsys.readouterr().out


@pytest.mark.full
@pytest.mark.skipif(
    not all(map(shutil.which, paper.PROGRAMS)), reason="needs pandoc and XeLaTeX (apt)"
)
def test_the_report_becomes_a_pdf(tmp_path: Path) -> None:
    assert paper.main([str(tmp_path / "report.pdf")]) == 0
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
