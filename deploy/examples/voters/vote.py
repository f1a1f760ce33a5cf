"""Gradient boosting by scikit-learn, as a site's own classifier.

Caucus runs it as: python3 vote.py RECORDS POOL SCHEMA (docs/site.md). It learns
from the records and prints a class for each row of the pool.
"""

import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a site's machine has other work

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

with open(sys.argv[3], encoding="utf-8") as file:
    schema = json.load(file)
label = schema["label"]["column"]
levels = {f["column"]: f["levels"] for f in schema["features"] if f["kind"] == "categorical"}

# Levels and classes are texts, also where they look like numbers.
texts = {name: str for name in [label, *levels]}
records = pd.read_csv(sys.argv[1], dtype=texts, keep_default_na=False, na_values=[""])
pool = pd.read_csv(sys.argv[2], dtype=texts, keep_default_na=False, na_values=[""])
for table in (records, pool):
    for name, known in levels.items():
        table[name] = pd.Categorical(table[name], categories=known)

x, y = records.drop(columns=label), records[label]
if y.nunique() < 2:  # nothing to tell apart
    votes = [y.iloc[0] if len(y) else schema["label"]["classes"][0]] * len(pool)
else:
    model = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=60, max_leaf_nodes=8, learning_rate=0.1, min_samples_leaf=5)
    votes = model.fit(x, y).predict(pool)
print("\n".join(votes))
