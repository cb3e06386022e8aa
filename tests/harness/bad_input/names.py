"""Names of problems, rules, predictors and settings that are none, and expressions that are malformed."""

from collections.abc import Iterator

from tests.harness.bad_input.case import CERTIFY, COMPARE, EXPLAIN, RUN, SUITE, SWEEP, Case, having

STRANGE = (
    "", " ", "[/x]", "[bold]", "$x$", "\\", "\\alpha", "%s", "{0}", "ünïcödé", "名前", "a\nb", "a\tb", "\x1b[31mred",
    "\x07", "🙂", "'", '"', "`id`", "$(id)", ";", "../../etc", "null", "-", "\u202eabc", "a" * 3000,
)  # fmt: skip
PROBLEMS = {
    "bard": "did you mean 'baird'",
    "Baird": "did you mean 'baird'",
    "random_wak": "did you mean 'random_walk'",
    "boyan2": "did you mean 'boyan'",
    "baird(": "baird(",
    "baird)": "baird)",
    "baird((": "baird((",
    "(baird)": "(baird)",
    "baird()()": "baird()()",
    "baird(x=1)": "no parameter 'x'",
    "boyan(1)": "write key=value, got '1'",
    "random_mdp(states=20": "random_mdp(states=20",
    "random_mdp(states=20))": "states must be a number",
    "random_mdp(states=(20)": "states must be a number",
    "random_mdp(states=)": "states must be a number, got ''",
    "random_mdp(=3)": "no parameter ''",
    "random_mdp(,)": "write key=value",
    "random_mdp(states=3,)": "write key=value",
    "random_mdp(states 3)": "write key=value, got 'states 3'",
    "random_mdp(3)": "write key=value, got '3'",
    "random_mdp(stats=2)": "did you mean 'states'",
    "random_mdp(states=2,stats=3)": "did you mean 'states'",
    "random_mdp(states=two)": "states must be a number, got 'two'",
    "random_mdp(states=1.5)": "states must be a whole number, got '1.5'",
    "random_mdp(states=0)": "states must be at least 1",
    "random_mdp(states=-3)": "states must be at least 1",
    "random_mdp(states=True)": "states must be a number",
    "random_mdp(states=None)": "states must be a number",
    "random_mdp(states=[3])": "states must be a number",
    "random_mdp(states='3')": "states must be a number",
    "random_mdp(states=3j)": "states must be a number",
    "random_mdp(states=nan)": "states must be a number",
    "random_mdp(states=1e400)": "states must be a number of at most",
    "random_mdp(states=10**9)": "states must be a number",
    "random_mdp(states=1000000000)": "states must be at most",
    "random_mdp(states=20000)": "states² × actions",
    "random_mdp(actions=100000000)": "actions must be at most",
    "random_mdp(features=100000000)": "features must be at most",
    "random_mdp(features=5000000)": "states × features",
    "random_mdp(states=3, actions=0)": "actions must be at least 1",
    "random_mdp(features=0)": "features must be at least 1",
    "random_mdp(features=2.5)": "features must be a whole number",
    "random_mdp(states=1,states=2)": "states is given twice",
    "random_mdp(gamma=0.5, gamma=0.5)": "gamma is given twice",
    "random_mdp(gamma=1)": "gamma must be below 1",
    "random_mdp(gamma=1.5)": "gamma must be in [0, 1]",
    "random_mdp(gamma=-0.1)": "gamma must be in [0, 1]",
    "random_mdp(gamma=nan)": "gamma must be a number",
    "random_mdp(gamma=big)": "gamma must be a number",
    "random_mdp(seed=-1)": "seed must be 0 or more",
    "random_mdp(seed=0.5)": "seed must be a whole number",
    "random_mdp(seed=" + "9" * 400 + ")": "seed must be a number of at most",
    "random_mdp(seed=" + "9" * 5000 + ")": "seed must be a number",
    "random_mdp(states=" + "(" * 5000 + ")": "states must be a number",
    "random_walk(features=1)": "no feature set '1'",
    "random_walk(features=tabluar)": "did you mean 'tabular'",
    "random_walk(features=)": "no feature set ''",
    "random_walk(features=[/x])": "no feature set '[/x]'",
    "random_walk(policy=1)": "no policy '1'",
    "random_walk(policy=onn)": "did you mean 'on'",
    "random_walk(policy=on, policy=off)": "policy is given twice",
    "grid_world(slip=2)": "slip must be in [0, 1]",
    "grid_world(slip=-0.5)": "slip must be in [0, 1]",
    "grid_world(explore=0)": "explore must be in",
    "grid_world(explore=1.5)": "explore must be in",
    "grid_world(gamma=2)": "gamma must be in",
    "frozen_lake(explore=2)": "explore must be in",
    "frozen_lake(gamma=-1)": "gamma must be in",
    "taxi(explore=-1)": "explore must be in",
    "cliff_walking(explore=nan)": "explore must be a number",
    "tsitsiklis_van_roy(epsilon=2)": "epsilon must be in [0, 1]",
    "tsitsiklis_van_roy(gamma=1.1)": "gamma must be in",
    "kolter(epsilon=1e300)": "epsilon must be a number of at most",
    "kolter(epsilon=100000000000000000)": "epsilon",
    "kolter(offset=2)": "offset must be in [0, 1]",
    "collision(seed=-1)": "seed must be 0 or more",
    "collision(seed=x)": "seed must be a number",
    "collision(seed=1, seed=1)": "seed is given twice",
}
RULES = {
    "gtd3": "did you mean 'gtd2'",
    "GTD2": "no rule 'GTD2'",
    "tdd": "did you mean 'td'",
    "greedy_qg": "did you mean 'greedy_gq'",
    "residual": "did you mean 'residual_gradient'",
    "gtd2(": "gtd2(",
    "gtd2)": "gtd2)",
    "gtd2()": "gtd2()",
    "gtd2(1)": "takes no parameter",
    "greedy_gq(": "greedy_gq(",
    "greedy_gq()": "greedy_gq()",
    "greedy_gq(2)": "eta must be in [0, 1], got 2",
    "greedy_gq(-0.1)": "eta must be in [0, 1]",
    "greedy_gq(nan)": "eta must be in [0, 1], got nan",
    "greedy_gq(inf)": "eta must be in [0, 1], got inf",
    "greedy_gq(x)": "eta must be a number, got 'x'",
    "greedy_gq( )": "eta must be a number",
    "greedy_gq(eta=)": "greedy_gq(eta=)",
    "greedy_gq(=1)": "greedy_gq(=1)",
    "greedy_gq(kappa=1)": "takes 'eta', got 'kappa'",
    "greedy_gq(0.1;0.2)": "eta must be a number",
    "greedy_gq(eta=1,eta=1)": "greedy_gq(eta=1,eta=1)",
    "greedy_gq((1))": "greedy_gq((1))",
    "greedy_gq(1)x": "greedy_gq(1)x",
    "tdrc(-1)": "kappa must be at least 0, got -1",
    "tdrc(nan)": "kappa must be finite",
    "tdrc(inf)": "kappa must be finite",
    "tdrc(one)": "kappa must be a number",
    "tdrc(eta=1)": "takes 'kappa', got 'eta'",
    "tdrc[1]": "tdrc[1]",
    "gtd2 tdc": "gtd2 tdc",
    "gtd2.tdc": "gtd2.tdc",
}
PREDICTORS = {
    "linaer": "did you mean 'linear'",
    "tabel": "did you mean 'table'",
    "mpl(50)": "did you mean 'mlp(50)'",
    "MLP(50)": "MLP(50)",
    "linear(1)": "takes no arguments",
    "table(2)": "takes no arguments",
    "own(3)": "takes no arguments",
    "own": "has no network of its own",
    "mlp": "needs at least one layer",
    "mlp()": "needs at least one layer",
    "mlp(": "mlp(",
    "mlp(50": "mlp(50",
    "mlp(50))": "mlp(50))",
    "mlp((50))": "mlp((50))",
    "mlp[50]": "mlp[50]",
    "mlp(0)": "at least 1 unit, got 0",
    "mlp(-5)": "at least 1 unit, got -5",
    "mlp(1.5)": "no activation '1.5'",
    "mlp(nan)": "no activation 'nan'",
    "mlp(50,)": "no activation ''",
    "mlp(50,,50)": "no activation ''",
    "mlp(relu)": "needs at least one layer",
    "mlp(50,rleu)": "did you mean 'relu'",
    "mlp(50,relu,tanh)": "activation is given twice",
    "mlp(50,pinned,pinned)": "pinned is given twice",
    "mlp(50,torch,small)": "engine is given twice",
    "mlp(50,float32,float32)": "float32 is given twice",
    "mlp(50,torch,float32)": "float32 is for the compiled engine",
    "mlp(50,float16)": "no activation 'float16'",
    "mlp(50,inputs=states,inputs=features)": "inputs is given twice",
    "mlp(50,inputs=state)": "did you mean 'states'",
    "mlp(50,inputs=)": "no inputs ''",
    "mlp(50,activation=relu)": "activation",
    "mlp(1000000000)": "units of a layer must be at most",
    "mlp(100000,100000)": "must have at most",
    "mlp(" + "9" * 30 + ")": "no activation",
}
CHOICES = {
    "--target": ((RUN, SWEEP, CERTIFY), ("cfd", "Value", "", "value,cdf ,x", "quantile"), "target"),
    "--targets": ((COMPARE,), ("cfd", "", ",", "value,cfd", "VALUE"), "target"),
    "--projection": ((RUN, SWEEP, COMPARE, CERTIFY), ("neerest", "", "Cramer", "c51"), "projection"),
    "--learner": ((RUN, COMPARE), ("polcy-iteration", "", "Agent", "dqn"), "learner"),
    "--schedule": ((RUN, SWEEP, COMPARE), ("constnat", "", "robbins_monro", "linear", "0.5"), "schedule"),
    "--executor": ((RUN, SWEEP, COMPARE, SUITE, EXPLAIN), ("pol", "", "Pool", "threads", "dask"), "executor"),
    "--profile": ((SUITE, EXPLAIN), ("c", "", "CI", "quick", "ci,full"), "profile"),
}


def cases() -> Iterator[Case]:
    """Every expression where it is looked up first, some of them everywhere, and strange letters in every place."""
    yield from _problems()
    yield from _rules()
    for text, says in PREDICTORS.items():
        yield Case("predictor", having(RUN, "--predictor", text), (says,))
    for command in (SWEEP, COMPARE):
        for text in list(PREDICTORS)[:12]:
            yield Case("predictor", having(command, "--predictor", text), (PREDICTORS[text],))
    for option, (commands, values, name) in CHOICES.items():
        for command in commands:
            for value in values:
                yield Case("choice", having(command, option, value), ("scheduler" if value == "dask" else name,))
    for text in STRANGE:
        yield Case("strange", ("problem", "show", text), ("problem",))
        yield Case("strange", ("rule", "show", text), ("rule",))
        yield Case("strange", having(RUN, "--problem", text), ("problem",))
        yield Case("strange", having(RUN, "--rule", text), ("rule",))
        yield Case("strange", having(RUN, "--predictor", text), ("predictor",))
        yield Case("strange", ("suite", text), ("suite",))
        yield Case("strange", (text, "x"), ("command" if text != "-" else "",))
    for surrogate in ("\udcff", "a\udc80b"):
        for words in (
            ("problem", "show", surrogate),
            having(RUN, "--store", surrogate),
            having(RUN, "--rule", surrogate),
        ):
            yield Case("bytes", words, ("is not UTF-8",))


def _problems() -> Iterator[Case]:
    for text, says in PROBLEMS.items():
        yield Case("problem", ("problem", "show", text), (says,))
    for text in list(PROBLEMS)[:24]:
        for command, option in ((RUN, "--problem"), (SWEEP, "--problem"), (CERTIFY, "--problem")):
            yield Case("problem", having(command, option, text), (PROBLEMS[text],))
        yield Case("problem", having(COMPARE, "--problems", f"two_state,{text}"), (PROBLEMS[text],))
    yield Case("problem", having(COMPARE, "--problems", ""), ("at least one problem",))
    yield Case("problem", having(COMPARE, "--problems", ",,"), ("at least one problem",))
    yield Case("problem", having(SWEEP, "--problem", "two_state,boyan"), ("two_state,boyan",))
    yield Case("problem", having(RUN, "--problem", "two_state,boyan"), ("two_state,boyan",))
    for problem in ("spiral", "taxi"):
        yield Case("problem", having((*CERTIFY, "--target", "cdf"), "--problem", problem), ("problem",))


def _rules() -> Iterator[Case]:
    for text, says in RULES.items():
        yield Case("rule", ("rule", "show", text), (says,))
        yield Case("rule", ("rule", "check", text), (says,))
        yield Case("rule", having(RUN, "--rule", text), (says,))
        yield Case("rule", ("certify", text, *CERTIFY[2:]), (says,))
    for text in list(RULES)[:12]:
        for command, option in ((SWEEP, "--rule"), (SUITE, "--rule"), (EXPLAIN, "--rule")):
            yield Case("rule", having(command, option, text), (RULES[text],))
        yield Case("rule", having(COMPARE, "--rules", f"gtd2,{text}"), (RULES[text],))
    yield Case("rule", having(COMPARE, "--rules", ""), ("at least one rule",))
    yield Case("rule", having(SWEEP, "--rule", "gtd2,tdc"), ("one rule and one target",))
    yield Case("rule", having(SWEEP, "--target", "value,cdf"), ("one rule and one target",))
