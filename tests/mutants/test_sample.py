"""CI runs twenty mutants, of those that compile nothing anew and that an exact claim catches: a minute or two."""

import random
import shutil

import pytest

from algorithms.fast.compiling import cache_folder
from tests.mutants.campaign import ROOT, Campaign, Results
from tests.mutants.catalogue import MUTANTS
from tests.mutants.catching import compiles_anew

EXACT = ("gradients", "engines", "oracle", "contraction")


@pytest.mark.slow
def test_twenty_mutants_are_caught(tmp_path):
    quick = [
        mutant
        for mutant in MUTANTS
        if not mutant.rule
        and mutant.catchers[0].kind == "claim"
        and mutant.catchers[0].suite in EXACT
        and not compiles_anew(ROOT, mutant.file)
    ]
    mutants = random.Random(0).sample(quick, 20)
    campaign = Campaign(ROOT, tmp_path, Results(tmp_path / "results.jsonl"))
    if cache_folder().exists():  # code of the very same sources, by its name: nothing is compiled twice
        shutil.copytree(cache_folder(), campaign.right.cache)
    assert campaign.check_catchers(mutants) == {}
    assert [result.name for result in campaign.run(mutants, jobs=1) if not result.by] == []
