"""Gradient temporal-difference learning: what is under test.

Glossary. The paper's letters, spelt out, mean the same thing in every module:

    theta   θ   parameters of the predictor
    w           auxiliary weights, of theta's shape
    phi     φ   gradient of one prediction; for linear predictors, the features of a state
    f           prediction, n numbers: one value, or the CDF at all atoms but the last (where it is 1)
    g           target, affine in the next prediction:  g = T f' + t
    delta   δ   g − f, the TD error or the paper's temporal distribution difference
    u           J(x) w, the tangent of the prediction in direction w: u_j = φ_jᵀw
    rho     ρ   importance ratio π(a|s) / b(a|s)
    alpha   α   step size of theta;  beta  β  step size of w
    lane        one (configuration, seed); every engine runs many at once
"""
