"""SciPy minimises our objective: L-BFGS-B with gradients, Newton-CG with exact products of the Hessian."""

import numpy as np

import crfkit

try:
    from scipy.optimize import minimize
except ImportError:
    raise SystemExit(print("this example needs SciPy"))

X = [[{"word": word, "last": word[-1]} for word in text.split()] for text in ("dogs bark", "cats sleep", "a dog barks", "the cat")]
y = [["N", "V"], ["N", "V"], ["D", "N", "V"], ["D", "N"]]

objective = crfkit.Objective.chain(X, y, sigma=2.0)
start = np.zeros(objective.dim)
for method, more in (("L-BFGS-B", {}), ("Newton-CG", {"hessp": objective.hess_vec})):
    found = minimize(objective.value_and_grad, start, jac=True, method=method, **more)
    print(f"{method:9} {found.fun:.6f} after {found.nfev} evaluations")

fitted = crfkit.ChainCRF(sigma=2.0, optimizer="lbfgs").fit(X, y)
print(f"crfkit    {fitted.objective_:.6f} after {fitted.passes_:.0f} passes")
print(objective.model(found.x).tagger().tag(X[2]).labels)
