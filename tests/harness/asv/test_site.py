"""asv's page, rewritten to what lies beside it."""

from pathlib import Path

import asv

from dgtd.harness.asv import site as asv_site
from dgtd.harness.asv.site import ELSEWHERE, SCRIPTS, localise


def test_every_script_of_asvs_page_has_a_copy_and_the_page_asks_for_it():
    page = (Path(asv.__file__).parent / "www" / "index.html").read_text()
    assert {match[3] for match in ELSEWHERE.finditer(page)} == set(SCRIPTS)
    ours = localise(page, set(SCRIPTS))
    assert not ELSEWHERE.search(ours)
    assert ours.count('"vendor/') == len(SCRIPTS)
    assert "integrity" not in ours


def test_what_is_missing_is_left_as_it_was():
    page = '<script src="https://example.org/a/md5.min.js" integrity="x"></script><a href="https://example.org/b.js">'
    assert localise(page, set()) == page
    assert localise(page, {"b.js"}) == page  # a link to read is not a script to load


def test_no_site_no_npm(tmp_path, monkeypatch, capsys):
    assert asv_site.main(tmp_path) == 2
    (tmp_path / "index.html").write_text("<html></html>")
    monkeypatch.setenv("PATH", "")
    assert asv_site.main(tmp_path) == 0
    assert "without npm" in capsys.readouterr().err
