# On a machine with python3, make and git, each target sets up what it needs.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PROFILE ?= ci
# One thread a process: the engines parallelise over lanes, not inside a matrix product.
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1

.PHONY: help setup compare figures control browser test tests kernels lint quick bench asv asv-compare asv-aa site cost-picture screenshots claims mutants torture seeds coverage clean
help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt setuptools
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev]'
	touch $(READY)

setup: $(READY)  ## create .venv and install, once

compare: $(READY)  ## the main job: GTD2 against the distributional variants, with a report
	$(BIN)/dgtd compare

figures: $(READY)  ## the paper's Figures 1, 2 and 3 beside what it says of them, on one page (PROFILE=full: 30 seeds)
	$(BIN)/dgtd figures --profile $(PROFILE)

control: $(READY)  ## DQN, C51 and distributional Greedy-GQ on CartPole (Figure 3), with a report
	$(BIN)/dgtd compare --problems cartpole-v0,cartpole-v1 --rules 'dqn,c51,greedy_gq(0.5)' --targets cdf \
	  --steps 50000 --seeds 30 --out results/control

browser:  ## install Debian's Chromium, which the report's tests drive (they are skipped without it)
	command -v chromium > /dev/null && command -v chromedriver > /dev/null || \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver > /dev/null)

test: $(READY)  ## ruff, the type checker and every test
	$(MAKE) --no-print-directory --jobs 2 lint tests

tests: kernels  ## every test; three at a time, since some wait
	$(BIN)/python -m pytest -n 3 --dist worksteal tests

kernels: $(READY)  ## compile what is compiled, once for all processes
	$(BIN)/python -m tests.kernels

quick: $(READY)  ## the tests that take less than a second each
	$(BIN)/python -m pytest -n 2 -m "not slow" tests

lint: $(READY)  ## ruff and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY)  ## speed as ratios, from alternating runs in one process
	$(BIN)/python -m pytest tests/benchmarks --benchmark-enable --benchmark-columns=min,median,rounds --benchmark-sort=name -s

COMMITS ?= 2
asv: $(READY)  ## benchmark the last COMMITS commits (2) with asv, and make the site
	$(BIN)/asv machine --yes > /dev/null
	$(BIN)/asv run --skip-existing-commits --steps $(COMMITS) HEAD~$(COMMITS)..HEAD || [ $$? -eq 2 ]  # 2: one failed
	$(BIN)/asv publish
	$(BIN)/python -m dgtd.harness.asv.site .asv/html
	@echo "the site is .asv/html; $(BIN)/asv preview serves it"

BASE ?= HEAD~1
HEAD ?= HEAD
asv-compare: $(READY)  ## is HEAD slower than BASE? (dgtd gate has an exit code for every answer)
	$(BIN)/dgtd gate $(BASE) $(HEAD)

asv-aa: $(READY)  ## the gate ten times on equal commits, and on one 1.5 times slower: how often is it right?
	$(BIN)/python -m tests.harness.asv.scratch 10

screenshots: $(READY) browser  ## the report and a terminal, as pictures in docs/ (after make compare)
	$(BIN)/python -m tests.harness.report.screenshots results/compare/report.html docs

site: $(READY)  ## the site, from our pages and the ledger in the store: .site/html/index.html
	$(BIN)/python docs/site/build.py

cost-picture: $(READY)  ## draw docs/cost.png: cost against parameters
	$(BIN)/python -m dgtd.harness.report.cost docs/cost.png

SAMPLE ?=
SEED ?=
mutants: $(READY)  ## a hundred listed faults, one by one: what sees each? SAMPLE=200 draws others (SEED=… the same again)
	$(BIN)/python -m tests.mutants $(if $(SAMPLE),--sample $(SAMPLE)) $(if $(SEED),--seed $(SEED))

torture: $(READY)  ## 200 signals to parents, workers and schedulers of a run, 20 kills of the whole ledger
	$(BIN)/python -m tests.harness.runs.torture 200 20

claims: $(READY)  ## judge every claim (ci) and write docs/claims.md
	$(BIN)/dgtd suite all --profile ci --document docs/claims.md --pictures results/claims

seeds: $(READY)  ## every suite's ci profile on fifty seeds: which verdicts flip?
	$(BIN)/python -m tests.suites.seeds 0 50

TRIALS ?= 20000
coverage: $(READY)  ## do intervals and tests keep their nominal rates?
	$(BIN)/python -m tests.harness.judging.coverage $(TRIALS)

clean:  ## remove what make made
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .benchmarks
