"""A rule of your own: TDC with part of its correction, as a worked example.

Judge it with every suite:

    dgtd suite all --rule examples/my_rule.py:half_corrected
    dgtd rule check examples/my_rule.py:half_corrected

Its update is TDC's with half of the correction term, so at w*(θ) it is not −½∇J: it does not promise to descend, nor
the rate and stability that follow from that. It does promise that w solves for w*, and a cost that is linear.
"""

from dgtd.algorithms.rule import Cotangents, Promise, rule


@rule(promises={Promise.SOLVES_W, Promise.LINEAR_COST})
def half_corrected(delta, u, rho):
    """Half-way between semi-gradient TD and TDC."""
    return Cotangents(prediction=-rho * delta, target=0.5 * rho * u, tangent=rho * delta - u)


@rule
def tdc_again(delta, u, rho):
    """TDC written anew. It promises everything, so it is held to everything."""
    return Cotangents(prediction=-rho * delta, target=rho * u, tangent=rho * delta - u)
