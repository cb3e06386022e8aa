"""Faults in the engines of networks: mlp, module, and what they share."""

from tests.mutants.mutant import Mutant

MLP = "algorithms/fast/mlp.py"
MODULE = "algorithms/fast/module.py"
TRACED = "algorithms/fast/traced.py"
TENSORS = "algorithms/fast/tensors.py"

MUTANTS = (
    Mutant(
        "mlp: the tangent has no hW",
        MLP,
        "                a[:, tangent].baddbmm_(h[:, here], aux)\n",
        "",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "mlp: no eWᵀ in the backward pass",
        MLP,
        "                    down[:, here].baddbmm_(inner[:, tangent], w[layer][:, :-1].mT)\n",
        "                    pass\n",
        ("claim:gradients/r-operator",),
    ),
    Mutant(
        "mlp: the bend of the activation forgotten",
        MLP,
        "out[:, here].addcmul_(bent, down[:, tangent])",
        "out[:, here].addcmul_(bent, down[:, tangent], value=0.0)",
        ("claim:gradients/r-operator",),
    ),
    Mutant(
        "mlp: the bend's sign",
        MLP,
        "out[:, here].addcmul_(bent, down[:, tangent])",
        "out[:, here].addcmul_(bent, down[:, tangent], value=-1.0)",
        ("claim:gradients/r-operator",),
    ),
    Mutant(
        "mlp: the tangent's bias row is alive",
        MLP,
        "stack[:, : 2 * size, -1] = 1.0",
        "stack[:, :, -1] = 1.0",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "mlp: x for x'",
        MLP,
        "inputs[0][:, size : 2 * size, :-1] = data.x_next",
        "inputs[0][:, size : 2 * size, :-1] = data.x",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "mlp: the tangent's rows left out of G_theta",
        MLP,
        "rows = 3 * size if curvature and layer > 0 else 2 * size",
        "rows = 2 * size",
        ("claim:gradients/r-operator",),
    ),
    Mutant(
        "mlp: Rh without the slope",
        MLP,
        "torch.mul(slope[:, here], a[:, tangent], out=above[:, tangent, :-1])",
        "torch.mul(1.0, a[:, tangent], out=above[:, tangent, :-1])",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "mlp: T for its transpose",
        MLP,
        "stack = torch.cat([p, data.shift.transpose(t), q], 1)",
        "stack = torch.cat([p, t, q], 1)",
        ("claim:gradients/collision/cdf/mlp-engine/gtd2/mean",),
    ),
    Mutant(
        "mlp: a step's w does not decay",
        MLP,
        "            _add(w[layer], here, tangent, d_w, keep)\n",
        "            _add(w[layer], here, tangent, d_w, 1.0)\n",
        ("claim:engines/mlp/loop/plain/tdrc(kappa=0.5)",),
    ),
    Mutant(
        "mlp: directions are sums over the batch",
        MLP,
        "        share = 1.0 / data.x.shape[1]\n",
        "        share = 1.0\n",
        ("claim:engines/mlp/batch=3,pinned/gtd2/written-out",),
    ),
    Mutant(
        "mlp: the least valued action instead of the greedy one",
        MLP,
        "following = self.head.means(outputs).argmax(-1)",
        "following = self.head.means(outputs).argmin(-1)",
        ("claim:engines/mlp/actions=3,greedy/gtd2/written-out",),
    ),
    Mutant(
        "module: rho dropped",
        MODULE,
        "p, t, q = self.rule(delta.detach(), u.detach(), rho)",
        "p, t, q = self.rule(delta.detach(), u.detach(), 0 * rho + 1)",
        ("claim:engines/module/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "module: gradient of the target dropped",
        MODULE,
        "(t * maps.apply(f_next)).sum()",
        "(t * maps.apply(f_next.detach())).sum()",
        ("claim:engines/module/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "module: tangent at nine tenths",
        MODULE,
        "p, t, q = self.rule(delta.detach(), u.detach(), rho)",
        ("u = 0.9 * u\n        p, t, q = self.rule(delta.detach(), u.detach(), rho)"),
        ("claim:engines/module/depth=1,tanh/gtd2/written-out",),
    ),
    Mutant(
        "module: a trace is believed unseen",
        TRACED,
        "elif self._trace is not None and not _same(self._trace(*arguments), found):",
        "elif False:",
        (
            "claim:engines/module/trace",
            "test:tests/algorithms/test_traced.py::test_what_changes_between_calls_is_never_held_in_a_trace",
        ),
    ),
    Mutant(
        "module: a trace serves other shapes",
        TRACED,
        "if shapes != self._shapes:",
        "if not self._shapes:",
        (
            "claim:engines/module/trace",
            "test:tests/algorithms/test_traced.py::test_other_shapes_start_again",
        ),
    ),
    Mutant(
        "module: curvature always",
        MODULE,
        "at = theta if self.rule.curvature else still",
        "at = theta",
        (
            "claim:engines/module/depth=1,tanh,pinned/greedy_gq(eta=0.5)/written-out",
            "test:tests/algorithms/fast/test_conformance.py::test_mlp_engine_equals_module_engine",
        ),
    ),
    Mutant(
        "module: kappa forgotten",
        MODULE,
        "g_w[name] - self.rule.w_decay * w[name] for name in g_w",
        "g_w[name] for name in g_w",
        ("claim:engines/module/depth=1,tanh/tdrc(kappa=0.5)/written-out",),
    ),
    Mutant(
        "module: beta for alpha",
        MODULE,
        "((theta, minus_alpha, g_theta), (w, plus_beta, g_w))",
        "((theta, -plus_beta, g_theta), (w, plus_beta, g_w))",
        ("claim:engines/module/loop/plain/gtd2",),
    ),
    Mutant(
        "step factors: the batch is not averaged",
        TENSORS,
        "return -alpha / batch, beta / batch, 1.0 - beta * decay",
        "return -alpha, beta, 1.0 - beta * decay",
        (
            "claim:engines/mlp/own-sizes",
            "test:tests/algorithms/fast/test_conformance.py::test_a_step_is_its_directions",
        ),
    ),
    Mutant(
        "step factors: alpha times kappa",
        TENSORS,
        "return -alpha / batch, beta / batch, 1.0 - beta * decay",
        "return -alpha / batch, beta / batch, 1.0 - alpha * decay",
        ("claim:engines/mlp/loop/plain/tdrc(kappa=0.5)",),
    ),
    Mutant(
        "step factors: beta for alpha in lanes of their own sizes",
        TENSORS,
        "return -a / batch, b / batch, (1.0 - b * decay) if decay else 1.0",
        "return -b / batch, b / batch, (1.0 - b * decay) if decay else 1.0",
        (
            "claim:engines/mlp/own-sizes",
            "test:tests/algorithms/fast/test_conformance.py::test_a_step_is_its_directions",
        ),
    ),
)
