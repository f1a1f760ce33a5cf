"""Add up a year's charges with Google's dp-accounting: see .ci/peers accounting.

python3 yearpeer.py YEAR.json, written by TestYear, compares the ledger's ε with that of the same releases'
privacy loss distributions: of normal noise, and of Laplace noise on as many equally moved cells as both bounds
allow. It fails if the ledger counts less.
"""

import json
import math
import sys
from fractions import Fraction

from dp_accounting.pld import privacy_loss_distribution as pld

year = json.load(open(sys.argv[1]))
whole, left_out = pld.identity(value_discretization_interval=1e-5), []
for c in year["charges"]:
    bound, given = c["bound"], c["parameters"]
    if c["mechanism"] == "discrete-gaussian":
        deviation = math.sqrt(Fraction(given["variance"]) / bound["l2sq"])
        loss = pld.from_gaussian_mechanism(deviation, value_discretization_interval=1e-5)
    elif c["mechanism"] == "discrete-laplace":
        cells = bound["l1"] ** 2 // bound["l2sq"]  # equal moves that use up both bounds
        moves = bound["l1"] // cells
        if moves == 1:
            loss = pld.from_discrete_laplace_mechanism(float(1 / Fraction(given["scale"])), value_discretization_interval=1e-5)
        else:
            loss = pld.from_laplace_mechanism(float(Fraction(given["scale"]) / moves), value_discretization_interval=1e-5)
        loss = loss.self_compose(cells)
    else:
        left_out.append(c["mechanism"])
        continue
    whole = whole.compose(loss)
google = whole.get_epsilon_for_delta(year["delta"])
print(f"{len(year['charges'])} studies at δ = {year['delta']:g}: the ledger ε = {year['epsilon']:.4f}, dp-accounting {google:.4f}, left out there: {left_out}")
if year["epsilon"] < google:
    sys.exit("the ledger counts less than is lost")
