"""Survival beside lifelines, on public sets: survivalpeer.py CAUCUS FOLDER [DRAWS].

The sets come with the packages lifelines and scikit-survival. Without noise, the curve of all
records equals the life table of lifelines on the same intervals to 1e-12, and lies within half a
standard error of its Kaplan-Meier curve at 12 edges. With noise, the share of 95 % intervals that
hold the population's curve is printed for three epsilons and two settings of noise; each draw
takes new records, with replacement, and new noise. It fails where that share is not within .90 to .99 although the
forecast expects the curve to reach its end.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys

import numpy as np
import pandas as pd
from lifelines import KaplanMeierFitter
from lifelines.datasets import load_dd, load_gbsg2, load_rossi
from lifelines.utils import survival_table_from_events

caucus, folder = sys.argv[1], pathlib.Path(sys.argv[2])
draws = int(sys.argv[3]) if len(sys.argv) > 3 else 400


def whas500():
    """Reads the data of scikit-survival without importing it: its own needs are heavy."""
    at = pathlib.Path(importlib.util.find_spec("sksurv").submodule_search_locations[0])
    lines = (at / "datasets/data/whas500.arff").read_text().splitlines()
    names = [line.split()[1].strip("'\"") for line in lines if line.lower().startswith("@attribute")]
    begin = [line.strip().lower() for line in lines].index("@data") + 1
    rows = [line.split(",") for line in lines[begin:] if line.strip()]
    return pd.DataFrame(rows, columns=names)


def sets():
    """Yields name, times, events, arms and end of each set."""
    d = load_gbsg2()
    yield "gbsg2", d.time, d.cens, d.horTh.map({"no": "a", "yes": "b"}), 2400
    d = whas500()
    yield "whas500", d.lenfol.astype(float), d.fstat.astype(float), d.gender.map(lambda v: "ab"[int(float(v))]), 1800
    d = load_rossi()
    yield "rossi", d.week, d.arrest, d.fin.map({0: "a", 1: "b"}), 52
    d = load_dd()
    yield "dd", d.duration, d.observed, d.democracy.map({"Democracy": "a", "Non-democracy": "b"}), 24


def run(name, **terms):
    args = [caucus, "simulate", "survival", "--json", "--train", f"{name}.csv", "--schema", f"{name}.yaml",
            "--pool", f"{name}-pool.csv", "--set", "time=days", "--set", "by=arm"]
    for key, value in terms.items():
        args += ["--set", f"{key}={value}"]
    return json.loads(subprocess.run(args, cwd=folder, check=True, capture_output=True).stdout)


def worth(said):
    return "; the curve is not expected to reach its end" if "unknown" in said["forecast"] else ""


def beside_lifelines(name, times, events, arms, until):
    table = run(name, parties=5, until=until, bins=12)["true"]
    edges, worst, off = table["edges"], 0.0, 0.0
    # lifelines counts (a, b]; here an event on an edge belongs to the interval above
    cut = [-1e-9] + [np.nextafter(e, 0) for e in edges] + [1e12]
    for group in table["groups"]:
        t, e = times[arms == group["level"]].to_numpy(float), events[arms == group["level"]].to_numpy(bool)
        own = survival_table_from_events(t, e, collapse=True, intervals=cut).iloc[-(len(edges) + 1):]
        n, d, c = (own[k].to_numpy(float)[: len(edges)] for k in ("at_risk", "observed", "censored"))
        life = np.cumprod(1 - d / (n - c / 2))
        km = KaplanMeierFitter().fit(t, e)
        assert len(group["points"]) == len(edges), (name, group["level"], len(group["points"]))
        for p, s, edge in zip(group["points"], life, edges):
            got = p["survival"]
            worst = max(worst, abs(got["value"] - s))
            if got["sd"] > 0:
                off = max(off, abs(got["value"] - float(km.predict(np.nextafter(edge, 0)))) / got["sd"])
    print(f"{name}: {len(times)} records, {int(events.sum())} events; from lifelines' life table {worst:.1e}, "
          f"from Kaplan-Meier {off:.2f} standard errors")
    return worst <= 1e-12 and off <= 0.5


folder.mkdir(parents=True, exist_ok=True)
right = True
for name, times, events, arms, until in sets():
    frame = pd.DataFrame({"days": times, "died": np.where(events.astype(int) == 1, "yes", "no"), "arm": arms})
    frame.to_csv(folder / f"{name}.csv", index=False)
    frame.drop(columns="died").sample(50, random_state=1).to_csv(folder / f"{name}-pool.csv", index=False)
    (folder / f"{name}.yaml").write_text(f"""label: {{column: died, classes: ["no", "yes"]}}
features:
  - {{column: days, kind: numeric, min: -1, max: {float(times.max())}}}
  - {{column: arm, kind: categorical, levels: [a, b]}}
""")
    right = beside_lifelines(name, times, events, arms, until) and right
    share = round(float(((times < until) & (events.astype(int) == 1)).mean()), 2)
    for epsilon in (0.3, 1, 3):
        for noise in ("site", "aggregators"):
            said = run(name, parties=5, until=until, epsilon=epsilon, noise=noise, expected=share,
                       **{"simulate.repeats": draws})
            of = said["survival"]
            right = right and (worth(said) != "" or 0.9 <= of["coverage"] <= 0.99)
            print(f"  ε = {epsilon:g}, noise {noise}, {len(said['released']['edges'])} intervals: "
                  f"{of['coverage']:.3f} hold the population's curve, least of one {of['least']:.3f}; "
                  f"{of['width_ratio']:.2f} times as wide{worth(said)}")
sys.exit(0 if right else 1)
