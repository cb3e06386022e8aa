"""Make asv's site work offline: copy the scripts that it loads from other servers into it.

    python -m dgtd.harness.asv.site .asv/html

npm downloads them as packages. Without npm the site is left as asv made it, and needs the network to show
its graphs.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

# What asv 0.6.6 loads, by file name: the npm package that has it, and the path inside the package.
SCRIPTS = {
    "jquery-3.3.1.min.js": ("jquery@3.3.1", "dist/jquery.min.js"),
    "jquery.flot.min.js": ("flot@0.8.3", "jquery.flot.js"),
    "jquery.flot.time.min.js": ("flot@0.8.3", "jquery.flot.time.js"),
    "jquery.flot.selection.min.js": ("flot@0.8.3", "jquery.flot.selection.js"),
    "jquery.flot.categories.min.js": ("flot@0.8.3", "jquery.flot.categories.js"),
    "jquery.flot.orderBars.js": ("flot-orderbars@1.0.0", "js/jquery.flot.orderBars.js"),
    "stupidtable.min.js": ("stupid-table-plugin@1.1.3", "stupidtable.min.js"),
    "md5.min.js": ("blueimp-md5@2.19.0", "js/md5.min.js"),
    "bootstrap.min.js": ("bootstrap@3.1.1", "dist/js/bootstrap.min.js"),
    "bootstrap.min.css": ("bootstrap@3.1.1", "dist/css/bootstrap.min.css"),
}
ELSEWHERE = re.compile(r'(<(?:script|link)\b[^>]*?\b(?:src|href)=")(https?://[^"]*/([^"/]+))("[^>]*>)')


def localise(text: str, have: set[str]) -> str:
    """The page, which now loads the scripts that we have from `vendor/`; checksums of the other copies are removed."""

    def swap(match: re.Match[str]) -> str:
        before, _, name, after = match.groups()
        if name not in have:
            return match[0]
        return re.sub(r' (?:integrity|crossorigin|referrerpolicy)="[^"]*"', "", f"{before}vendor/{name}{after}")

    return ELSEWHERE.sub(swap, text)


def vendor(html: Path, npm: str) -> set[str]:
    """Fetch the scripts into html/vendor; returns the file names that are there now."""
    folder = html / "vendor"
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        for package in dict.fromkeys(package for package, _ in SCRIPTS.values()):
            wanted = {name: path for name, (owner, path) in SCRIPTS.items() if owner == package}
            if all((folder / name).exists() for name in wanted):
                continue
            done = subprocess.run(
                [npm, "pack", "--silent", package], cwd=place, capture_output=True, text=True, check=False
            )
            if done.returncode:
                print(f"npm could not fetch {package}: the site will load it from the network", file=sys.stderr)
                continue
            with tarfile.open(Path(place) / done.stdout.split()[-1]) as archive:
                for name, path in wanted.items():
                    found = archive.extractfile(f"package/{path}")
                    assert found is not None
                    (folder / name).write_bytes(found.read())
    return {path.name for path in folder.iterdir()}


def main(html: Path) -> int:
    """Rewrite html/index.html."""
    page = html / "index.html"
    if not page.exists():
        print(f"no {page}: `asv publish` creates it", file=sys.stderr)
        return 2
    npm = shutil.which("npm")
    if npm is None:
        print("without npm the site is left as asv made it, and needs the network to show its graphs", file=sys.stderr)
        return 0
    page.write_text(localise(page.read_text(encoding="utf-8"), vendor(html, npm)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
