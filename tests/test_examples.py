"""The examples do what they say: the workflow's own lines, run on a small suite, post a summary."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def steps():
    import yaml

    made = yaml.safe_load((ROOT / "examples" / "github-workflow.yml").read_text(encoding="utf-8"))
    return made["jobs"]["claims"]["steps"]


def lines():
    return [line for step in steps() for line in step.get("run", "").splitlines()]


def test_the_workflow_installs_from_what_it_has_checked_out():
    (checkout,) = [step["with"]["path"] for step in steps() if "repository" in step.get("with", {})]
    installs = [line for line in lines() if line.startswith("pip install")]
    assert installs
    for line in installs:
        named = re.sub(r"--\S+( \S+\.txt)?", "", line.removeprefix("pip install")).split()
        # From an index come only tools; we are installed from the checkout, with its constraints.
        assert set(named) <= {"setuptools", "pytest", f"./{checkout}"}
        assert f"--constraint {checkout}/constraints.txt" in line
    assert (ROOT / "constraints.txt").exists()


@pytest.mark.slow
def test_the_workflows_commands_judge_a_rule_and_post_a_summary(tmp_path):
    (tmp_path / "my_rule.py").write_text(
        (ROOT / "examples" / "my_rule.py").read_text(encoding="utf-8").replace("half_corrected", "my_rule"),
        encoding="utf-8",
    )
    summary = tmp_path / "summary.md"
    dgtd = f"'{sys.executable}' -c 'from dgtd.harness.cli import main; main()'"
    env = os.environ | {"GITHUB_STEP_SUMMARY": str(summary), "PYTHONPATH": str(ROOT)}
    run = [line for line in lines() if line.startswith(("dgtd", "cat"))]
    assert len(run) == 2
    for line in run:  # one suite stands for all of them
        small = line.replace("dgtd suite all", f"{dgtd} suite contraction --claim contraction/k", 1)
        done = subprocess.run(small, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    text = summary.read_text(encoding="utf-8")
    assert "## dgtd suite contraction (ci): my_rule" in text
    assert "| `contraction/kl` |" in text
    assert (tmp_path / "claims.xml").exists()
