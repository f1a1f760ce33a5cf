"""Boosted trees beside `lab run sharper`: scikit-learn's HistGradientBoosting with its defaults.

python3 boosted.py TRAIN.csv TEST.csv prints the accuracy on TEST. Rows are a class, then features.
"""

import sys

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

train, test = (np.loadtxt(name, delimiter=",", ndmin=2) for name in sys.argv[1:])
model = HistGradientBoostingClassifier(random_state=0).fit(train[:, 1:], train[:, 0].astype(int))
print(model.score(test[:, 1:], test[:, 0].astype(int)))
