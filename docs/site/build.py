"""The site: our pages, the ledger with filters, and the paper statement by statement. `make site` runs it.

    python docs/site/build.py --store results/dgtd.sqlite --out .site/html

Verdicts are those of the ledger (ci) in the store, and of docs/figures.json where that has the claim: nothing is
published that no stored result has.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
HELD, LOST = ("PASS", "CAUGHT"), ("NOT REPLICATED", "NO DIFFERENCE", "FAIL", "MISSED")
FINE = (0, 1, 3)  # exit codes of a suite that has run to its end


@dataclass(frozen=True)
class Statement:
    """What the paper says, patterns of our claims about it, and what has to be added.

    A '?' before a pattern: of a world that may not be installed.
    """

    where: str
    says: str
    claims: tuple[str, ...] = ()
    but: str = ""

    def found(self, verdicts: dict[str, str]) -> dict[str, str]:
        """Its claims, with their verdicts."""
        patterns = [pattern.removeprefix("?") for pattern in self.claims]
        return {id_: verdict for id_, verdict in verdicts.items() if any(fnmatchcase(id_, each) for each in patterns)}

    def word(self, verdicts: dict[str, str]) -> str:
        """held, corrected, says nothing yet, undecided, did not hold, in part, not judged."""
        counts = Counter(self.found(verdicts).values())
        good, bad = (sum(counts[each] for each in some) for some in (HELD, LOST))
        if not counts:
            return "not judged"
        if bad:
            return "in part" if good else "did not hold" if bad == counts.total() else "not shown"
        if counts["INCONCLUSIVE"] or counts["ERROR"]:
            return "undecided"
        if counts["VACUOUS"]:
            return "holds, and says nothing yet"
        return "corrected" if self.but else "held"


def statements() -> list[Statement]:
    rows = tomllib.loads((ROOT / "suites" / "paper.toml").read_text(encoding="utf-8"))["statement"]
    return [Statement(**row | {"claims": tuple(row.get("claims", ()))}) for row in rows]


def verdicts(path: Path) -> dict[str, str]:
    """Claim → verdict."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return {row["id"]: row["verdict"] for row in rows}


def page(known: dict[str, str], ledger: Collection[str]) -> str:
    """The paper, statement by statement, as Markdown; claims that the ledger here has lead to it."""
    rows = statements()
    counts = Counter(each.word(known) for each in rows)
    head = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    out = [
        "---", "hide: [toc]", "---", "", "# The paper, statement by statement", "",
        "Qu, Mannor and Xu, *Nonlinear Distributional Gradient Temporal-Difference Learning* (ICML 2019), in our words"
        f", and what became of it here. {len(rows)} statements: {head}.", "",
        "*Corrected*: it holds with what is added. *Not judged*: why stands there, or its claims are in profiles that "
        "were not run. Claims lead to the [ledger](ledger.html); those of figures were judged with more seeds "
        "([figures](figures.md)).", "",
        "| the paper says | here | claims |", "|---|---|---|",
    ]  # fmt: skip
    for each in rows:
        found = each.found(known)
        many = ", ".join(f"{count} {verdict}" for verdict, count in Counter(found.values()).most_common())
        links = "<br>".join(
            f'<a href="ledger.html#text={quote(id_)}">{id_}</a>' if id_ in ledger else f"{id_}: {verdict}"
            for id_, verdict in found.items()
        )
        listed = f"<details><summary>{many}</summary>{links}</details>" if found else ""
        here = f"**{each.word(known)}**" + (f"<br>{each.but}" if each.but else "")
        cells = (f"{each.says}<br><small>{each.where}</small>", here, listed)
        out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*out, ""])


def staged(folder: Path, store: Path, suite: str) -> None:
    """Everything that the site is made of."""
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("site", "claims.*"))
    shutil.copytree(ROOT / "examples", folder / "examples")
    for path in [each for kind in ("md", "css", "js") for each in SITE.glob(f"*.{kind}")]:
        shutil.copy(path, folder)
    for name in ("claims.md", "ledger.html"):
        (folder / name).unlink(missing_ok=True)
        words = ("suite", suite, "--profile", "ci", "--store", str(store), "--document", str(folder / name))
        command = [sys.executable, "-c", "from dgtd.harness.cli import main; main()", *words]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in FINE or not (folder / name).exists():
            sys.exit(f"the ledger could not be written: {done.stderr}")
    here, figures = verdicts(folder / "claims.json"), verdicts(ROOT / "docs" / "figures.json")
    (folder / "statements.md").write_text(page(here | figures, here.keys() - figures.keys()), encoding="utf-8")
    for path in folder.glob("*.md"):
        path.write_text(path.read_text(encoding="utf-8").replace("](../examples/", "](examples/"), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, default=ROOT / "results" / "dgtd.sqlite", help="that has the ledger")
    parser.add_argument("--out", type=Path, default=ROOT / ".site" / "html", help="the folder for the site")
    parser.add_argument("--suite", default="all", help="what of the ledger is shown")
    given = parser.parse_args()
    out = given.out.resolve()
    given.store.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dgtd-site-") as name:
        staged(Path(name) / "source", given.store, given.suite)
        config = Path(name) / "mkdocs.yml"
        text = (SITE / "mkdocs.yml").read_text(encoding="utf-8")
        config.write_text(text.replace("paths: [..]", f"paths: [{str(ROOT)!r}]"), encoding="utf-8")
        build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(config)]
        quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
        code = subprocess.run([*build, "--site-dir", str(out)], cwd=ROOT, env=quiet).returncode
    if code == 0:
        print(f"the site is {given.out / 'index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
