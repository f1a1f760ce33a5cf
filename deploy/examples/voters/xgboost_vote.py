"""Gradient boosting by XGBoost, as a site's own classifier.

Caucus runs it as: python3 xgboost_vote.py RECORDS POOL SCHEMA (docs/site.md).
"""

import json
import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a site's machine has other work

import pandas as pd
import xgboost

with open(sys.argv[3], encoding="utf-8") as file:
    schema = json.load(file)
label, classes = schema["label"]["column"], schema["label"]["classes"]
levels = {f["column"]: f["levels"] for f in schema["features"] if f["kind"] == "categorical"}

texts = {name: str for name in [label, *levels]}
records = pd.read_csv(sys.argv[1], dtype=texts, keep_default_na=False, na_values=[""])
pool = pd.read_csv(sys.argv[2], dtype=texts, keep_default_na=False, na_values=[""])
for table in (records, pool):
    for name, known in levels.items():
        table[name] = pd.Categorical(table[name], categories=known)

x, y = records.drop(columns=label), records[label]
seen = [c for c in classes if (y == c).any()]  # XGBoost wants 0, 1, ... without a gap
if len(seen) < 2:
    votes = [seen[0] if seen else classes[0]] * len(pool)
else:
    model = xgboost.XGBClassifier(n_estimators=60, max_depth=3, learning_rate=0.2, enable_categorical=True, n_jobs=1)
    model.fit(x, y.map(seen.index))
    votes = [seen[int(k)] for k in model.predict(pool)]
print("\n".join(votes))
