"""Data frames of the caucus program's documents. Numbers are the documents'; the odds ratios and the
thresholds of probabilities alone are computed here, from log-odds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Tuple

if TYPE_CHECKING:
    import pandas as pd

Document = Dict[str, Any]
Rows = Iterable[Sequence[Any]]

INTERVAL = ["value", "low", "high", "noise_low", "noise_high"]
NUMBER = ["value", "sd", "noise_sd", "low", "high"]
EVERYBODY = "everybody"


class NotHeld(ValueError):
    """The release has no such frame; the message names the frames that it has."""


def pandas() -> Any:
    """pandas, or an ImportError that says how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError("data frames need pandas: pip install pandas") from None
    return pandas


def _frame(rows: Rows, texts: Sequence[str], numbers: Sequence[str], wholes: Sequence[str] = (), order: Sequence[str] = ()) -> pd.DataFrame:
    """A frame of rows, each with texts, then numbers (None becomes NaN), then whole numbers."""
    lib = pandas()
    columns = [*texts, *numbers, *wholes]
    out: pd.DataFrame = lib.DataFrame([list(r) for r in rows], columns=columns)
    out = out.astype({**{n: float for n in numbers}, **{n: "int64" for n in wholes}, **{n: object for n in texts}})
    return out[list(order)] if order else out


def words(table: Document) -> pd.DataFrame:
    """A table for people; its first column is the index."""
    lib = pandas()
    out: pd.DataFrame = lib.DataFrame(table["rows"], columns=table["head"])
    return out.set_index(table["head"][0])


def costs(all: List[Document]) -> pd.DataFrame:
    rows = (
        [
            c["output"], c["mechanism"], ", ".join("%s = %s" % p for p in sorted((c.get("parameters") or {}).items())), c["bound"]["unit"],
            c["epsilon"], c["delta"], c.get("rho"), c["bound"]["l1"], c["bound"]["l2sq"], c["bound"]["cells"],
        ]
        for c in all
    )
    return _frame(rows, ["output", "mechanism", "parameters", "unit"], ["epsilon", "delta", "rho"], ["l1", "l2sq", "cells"])


def totals(all: List[Document]) -> pd.DataFrame:
    rows = ([t["unit"], t["why"], t["epsilon"], t["delta"]] for t in all)
    return _frame(rows, ["unit", "why"], ["epsilon", "delta"], order=["unit", "epsilon", "delta", "why"])


def difference(c: Document) -> str:
    """A contrast in the words of `caucus release show`."""
    if c.get("times"):
        return "1 + %s, times %s" % (c["column"], _short(c["times"]))
    if c.get("level"):
        return "%s: %s, against %s" % (c["column"], c["level"], c["against"])
    return "%s: %s more" % (c["column"], _short(c["per"]))


def _short(v: float) -> str:
    return str(int(v)) if v == int(v) else repr(v)


def coefficients(shown: Document) -> pd.DataFrame:
    readings = iter(r[-1] for t in shown.get("tables") or [] if t["head"][0] == "difference" for r in t["rows"])
    rows = []
    for c in shown["coefficients"]["of"]:
        e = c.get("log_odds")
        logs = [e[n] for n in ("value", "sd", "low", "high")] if e else [None] * 4
        odds = [math.exp(e[n]) for n in ("value", "low", "high")] if e else [None] * 3
        texts = [difference(c), c["column"], c.get("level"), c.get("against"), next(readings, "") if e else "", c.get("untold", "")]
        rows.append([*texts, c.get("per"), c.get("times"), *odds, *logs])
    ratios, scale, contrast = ["odds_ratio", "odds_low", "odds_high"], ["log_odds", "sd", "low", "high"], ["per", "times"]
    out = _frame(
        rows, ["difference", "column", "level", "against", "reading", "untold"], [*contrast, *ratios, *scale],
        order=["difference", *ratios, "reading", *scale, "column", *contrast, "level", "against", "untold"],
    )
    out.attrs["class"] = shown["coefficients"]["class"]
    return out.set_index("difference")


def path(body: Document) -> pd.DataFrame:
    points = body.get("path") or body.get("classifier", {}).get("path")
    if not points:
        raise NotHeld("no path: lambda was given by the plan, or nothing was chosen by it")
    names = list(dict.fromkeys(n for p in points for n in p))
    return _frame([[p.get(n) for n in names] for p in points], [], names)


# describe


def table_of(body: Document, site: Optional[str]) -> Document:
    """The table of all records, or of one site's."""
    if site is None:
        return body
    for s in body.get("sites") or []:
        if s["party"] == site:
            table: Document = s["table"]
            return table
    raise NotHeld(_no_site(body, site))


def _no_site(body: Document, site: str) -> str:
    names = [s["party"] for s in body.get("sites") or []]
    return "there is no table of site %s: %s" % (site, "there are those of " + ", ".join(names) if names else "the study shows none of its sites")


def _ends(e: Optional[Document]) -> List[Any]:
    return [e[n] for n in INTERVAL] if e else [None] * 5


def _groups(table: Document) -> List[str]:
    return [g["level"] for g in table.get("groups") or []] or ["all"]


def table_one(table: Document) -> pd.DataFrame:
    rows: List[List[Any]] = []
    if table.get("inside"):
        rows.append(["", "matching", "share", "all", *_ends(table["inside"]["share"]), table["inside"]["noisy"]])
    for g in table.get("groups") or []:
        rows.append([table["by"], g["level"], "share", "all", *_ends(g["share"]), g["shown"]])
    for c in table.get("columns") or []:
        for group, s in zip(_groups(table), c["groups"]):
            rows += [[c["column"], level, statistic, group, *_ends(e), count] for level, statistic, e, count in _statistics(c, s)]
    return _frame(rows, ["variable", "level", "statistic", "group"], [*INTERVAL, "count"])


def _statistics(c: Document, s: Document) -> Iterable[Tuple[str, str, Optional[Document], Optional[float]]]:
    """Level, name, estimate and count of everything that a column has in one group."""
    edges = c.get("edges")
    if not edges:
        for level, e, n in zip(c["levels"], s["shares"], s["counts"]):
            yield level, "share", e, n
        return
    geometric = "geometric " if c.get("log") else ""
    yield "", geometric + "mean", s.get("mean"), None
    yield "", geometric + "sd", s.get("sd"), None
    quantiles = s.get("quantiles") or [None] * 3
    for name, q in zip(("lower quartile", "median", "upper quartile"), quantiles):
        yield "", name, q, None
    if len(s["shares"]) > len(edges) - 1:
        yield "missing", "share", s["shares"][-1], s["counts"][-1]


def one_in_words(tables: List[Document], site: Optional[str]) -> pd.DataFrame:
    of = "the records" if site is None else "the records of %s" % site
    for t in tables or []:
        if t["title"] == of or t["title"].startswith(of + ", "):
            return words(t)
    raise NotHeld("there is no table of %s here" % of)


def histograms(table: Document) -> pd.DataFrame:
    rows = []
    for c in table.get("columns") or []:
        edges = c.get("edges") or []
        for group, s in zip(_groups(table), c["groups"]):
            for k in range(len(edges) - 1):
                rows.append([c["column"], group, edges[k], edges[k + 1], s["noisy"][k], s["counts"][k], *_ends(s["shares"][k])])
    shares = ["share", "low", "high", "noise_low", "noise_high"]
    return _frame(rows, ["variable", "group"], ["from", "to", "noisy", "count", *shares])


def sites(body: Document) -> pd.DataFrame:
    if not body.get("sites"):
        raise NotHeld("the study shows no table of each site")
    rows = []
    for s in body["sites"]:
        t = s["table"]
        inside = t.get("inside") or {"noisy": None, "share": None}
        rows.append([s["party"], t["noise_sd"], inside["noisy"], *_ends(inside["share"]), t["records"]])
    return _frame(rows, ["party"], ["noise_sd", "matching", "share", "low", "high", "noise_low", "noise_high"], ["records"])


# survival


def _level(group: Document) -> str:
    return group["level"] or "all"


def curves(body: Document) -> pd.DataFrame:
    rows = [[_level(g), p["time"], *_number(p["survival"]), p["at_risk"], p["events"]] for g in body["groups"] for p in g["points"]]
    return _frame(rows, ["group"], ["time", *NUMBER, "at_risk", "events"])


def survival_groups(body: Document) -> pd.DataFrame:
    rows = [
        [_level(g), g["median"].get("unknown", ""), g["records"], g["events"], *_median(g), *_ended(g["mean"]), g["mean_to"]]
        for g in body["groups"]
    ]
    names = ["records", "events", *(m + e for m in ("median", "mean") for e in ("", "_low", "_high")), "mean_to"]
    return _frame(rows, ["group", "unknown"], names, order=["group", *names, "unknown"])


def _median(group: Document) -> List[Any]:
    """A median without a value may have a lower end, where the band falls to a half."""
    low = group.get("median_low")
    return [None, low, math.inf] if group["median"].get("unknown") and low else _ended(group["median"])


def _ended(n: Document) -> List[Any]:
    """Value and ends of a number; an open end is infinite."""
    if n.get("unknown"):
        return [None] * 3
    return [n["value"], -math.inf if n.get("no_low") else n["low"], math.inf if n.get("no_high") else n["high"]]


def compared(body: Document) -> pd.DataFrame:
    rows = [
        [c["of"], c["to"], c["hazard_ratio"].get("unknown", ""), *_ended(c["hazard_ratio"]), c.get("log_rank_p"), c["at"], *_ended(c["difference"])]
        for c in body.get("compared") or []
    ]
    numbers = ["hazard_ratio", "ratio_low", "ratio_high", "log_rank_p", "at", "difference", "difference_low", "difference_high"]
    return _frame(rows, ["of", "to", "unknown"], numbers, order=["of", "to", *numbers, "unknown"])


# evaluate


def _subgroups(body: Document) -> Iterable[Tuple[Document, str, str, Document]]:
    """Class, column and level of each set of records that was evaluated."""
    for c in body["classes"]:
        yield c, "", EVERYBODY, c["overall"]
        for g in c.get("groupings") or []:
            for level in g["levels"]:
                yield c, g["column"], level["level"], level


def changes(body: Document) -> pd.DataFrame:
    rows = []
    for c in body["coefficients"]:
        number = _number(c["change"])
        factor = [math.exp(number[k] * c["spread"]) for k in (0, 3, 4)] if body.get("factor_of") and number[0] is not None else [None] * 3
        texts = [c["column"], c.get("level", ""), c.get("to", ""), c["change"].get("unknown", "")]
        rows.append([*texts, c["spread"], *number, *factor])
    factors = ["factor", "factor_low", "factor_high"]
    order = ["column", "level", "to", *NUMBER, *factors, "spread", "unknown"]
    out = _frame(rows, ["column", "level", "to", "unknown"], ["spread", *NUMBER, *factors], order=order)
    out.attrs.update({"outcome": body["outcome"], "factor_of": body.get("factor_of", "")})
    return out


def _number(n: Document) -> List[Any]:
    """value, sd, noise_sd, low, high: NaN if unknown. low or high is infinite if noise leaves it open."""
    if n.get("unknown"):
        return [None] * 5
    low = -math.inf if n.get("no_low") else n["low"]
    return [n["value"], n["sd"], n["noise_sd"], low, math.inf if n.get("no_high") else n["high"]]


MEASURES = ["records", "positives", "prevalence", "auc", "slope", "intercept", "in_the_large", "brier"]


def measures(body: Document) -> pd.DataFrame:
    rows = [[c["class"], by, level, m, s[m].get("unknown", ""), *_number(s[m])] for c, by, level, s in _subgroups(body) for m in MEASURES]
    return _frame(rows, ["class", "by", "level", "measure", "unknown"], NUMBER, order=["class", "by", "level", "measure", *NUMBER, "unknown"])


def roc(body: Document, curves: List[Document]) -> pd.DataFrame:
    rows: List[List[Any]] = []
    found = {(c["class"], c["of"]): c["points"] for c in curves}
    for c, by, level, _ in _subgroups(body):
        edges = [1 / (1 + math.exp(-v)) for v in c["edges"]] if c["probability"] else c["edges"]
        at = [math.inf, *reversed(edges), -math.inf]
        points = found.get((c["class"], "%s %s" % (by, level) if by else level), [])
        rows += [[c["class"], by, level, t, *p] for t, p in zip(at, points)]
    return _frame(rows, ["class", "by", "level"], ["threshold", "false_positive_rate", "true_positive_rate"])


def calibration(body: Document) -> pd.DataFrame:
    rows = [
        [c["class"], by, level, b["observed"].get("unknown", ""), b["mean"], *_number(b["observed"]), b["positives"], b["negatives"]]
        for c, by, level, s in _subgroups(body) for b in s["bins"]
    ]
    numbers = ["score", "observed", "sd", "noise_sd", "low", "high", "positives", "negatives"]
    return _frame(rows, ["class", "by", "level", "unknown"], numbers, order=["class", "by", "level", *numbers, "unknown"])


def thresholds(body: Document) -> pd.DataFrame:
    rows = [
        [c["class"], by, level, m, t[m].get("unknown", ""), t["at"], *_number(t[m])]
        for c, by, level, s in _subgroups(body) for t in s.get("thresholds") or [] for m in ("sensitivity", "specificity", "net_benefit")
    ]
    if not rows:
        raise NotHeld("the plan names no thresholds (evaluate: {thresholds: [0.2]})")
    return _frame(rows, ["class", "by", "level", "measure", "unknown"], ["at", *NUMBER], order=["class", "by", "level", "at", "measure", *NUMBER, "unknown"])


# shares, predictions


def shares_of_labels(body: Document) -> pd.DataFrame:
    s = body["shares"]
    rows = zip(body["classifier"]["classes"], s["projected"], s["standard_error"], s["share"])
    return _frame(rows, ["class"], ["share", "sd", "unprojected"])


def shares_of_sets(body: Document, classes: List[str]) -> pd.DataFrame:
    rows: List[List[Any]] = [["all", k, v, None, sum(s["records"] for s in body["sets"])] for k, v in zip(classes, body.get("training_shares") or [])]
    for i, s in enumerate(body["sets"]):
        sd = s.get("sd") or [None] * len(classes)
        rows += [[i + 1, k, v, d, s["records"]] for k, v, d in zip(classes, s["shares"], sd)]
    return _frame(rows, ["set", "class"], ["share", "sd"], ["records"])


def shares(said: Document) -> pd.DataFrame:
    names = ["share", "low", "high", "sd", "training"]
    out = _frame([[c["class"], *(c.get(n) for n in names)] for c in said["classes"]], ["class"], names)
    out.attrs.update({k: v for k, v in said.items() if k != "classes"})
    return out


def predictions(said: Document, order: List[str]) -> pd.DataFrame:
    lib = pandas()
    kept: Document = said.get("kept") or {}
    kept = {**{n: kept[n] for n in order if n in kept}, **kept}
    out: pd.DataFrame = lib.DataFrame({**kept, "predicted": said["labels"]}, index=lib.RangeIndex(1, said["rows"] + 1, name="row"))
    for k, name in enumerate(said["classes"]):
        out["%s_%s" % (said["output"], name)] = [v[k] for v in said["values"]]
    return out


# reweigh


def weights(body: Document, pool: Optional[pd.DataFrame]) -> pd.DataFrame:
    if pool is None:
        return _frame([[w] for w in body["weight"]], [], ["caucus_weight"])
    out = pool.copy()
    out["caucus_weight"] = body["weight"]
    return out


def read(path: str, missing: str) -> pd.DataFrame:
    frame: pd.DataFrame = pandas().read_csv(path, na_values=[missing])
    return frame


def means(body: Document) -> pd.DataFrame:
    beside = {r["feature"]: r for r in body.get("residuals") or []}
    rows = []
    for j, feature in enumerate(body["features"]):
        r = beside.get(feature, {})
        released = body["means"][j] if body.get("means") else None
        rows.append([feature, released, body["noise_sd"] if released is not None else None, r.get("weighted"), r.get("pool"), body["tilt"][j]])
    return _frame(rows, ["feature"], ["released", "noise_sd", "weighted_pool", "pool", "tilt"])


def answers(all: List[Document]) -> pd.DataFrame:
    parts = ["noise_sd", "left_sd", "sampling_sd", "records_sd", "shift_sd", "r_squared", "distance_moved"]
    rows = [
        [
            a["where"], a.get("no_interval", ""), a["estimate"], a["answer"].get("low"), a["answer"].get("high"), a["unweighted"], a["effective_rows"],
            *(a["answer"].get(p) for p in parts), a["rows"], a["matching_rows"],
        ]
        for a in all
    ]
    numbers = ["estimate", "low", "high", "unweighted", "effective_rows", *parts]
    wholes = ["rows", "matching_rows"]
    return _frame(rows, ["where", "no_interval"], numbers, wholes, order=["where", *numbers, *wholes, "no_interval"])


# simulate, forecast

_SETTINGS = frozenset(
    "study mechanism sampler estimator unit noise epsilon delta parties shards pool_rows features classes lambda records bins repeats sets set_size "
    "targets target_size private_rows width keep seconds upload_bytes_per_party".split()
)


def simulated(said: Document) -> pd.DataFrame:
    if said["study"] == "describe":
        return _described(said)
    if said["study"] == "evaluate":
        return _judged(said)
    if said["study"] == "regress":
        out = changes(said["released"])
        out.insert(3, "true", changes(said["true"])["value"])
        return out
    if said["study"] == "survival":
        truth = curves(said["true"]).set_index(["group", "time"])["value"]
        out = curves(said["released"])
        out.insert(2, "true", [truth.get(at, math.nan) for at in zip(out["group"], out["time"])])
        return out
    rows: List[List[Any]] = []
    for name, value in said.items():
        if name not in _SETTINGS and not isinstance(value, bool):
            parts = value.items() if isinstance(value, dict) else [("", value)]
            rows += [[name, of, v] for of, v in parts if isinstance(v, (int, float))]
    return _frame(rows, ["measure", "of"], ["value"])


def _described(said: Document) -> pd.DataFrame:
    out, truth = table_one(said["released"]), table_one(said["true"])
    out.insert(4, "true", truth["value"])
    out.insert(len(out.columns), "true_count", truth["count"])
    return out


def _judged(said: Document) -> pd.DataFrame:
    more = ["error", "bias", "sd", "known", "covered", "known_population", "covered_population"]
    rows = [
        [c["class"], g["name"], n["number"], n["first"].get("unknown", ""), n.get("truth"), *_number(n["first"]), *(n.get(m) for m in more)]
        for c in said["classes"] for g in c["subgroups"] for n in g["numbers"] or []
    ]
    numbers = ["true", *NUMBER, *("repeats_sd" if m == "sd" else m for m in more)]
    return _frame(rows, ["class", "group", "measure", "unknown"], numbers, order=["class", "group", "measure", *numbers, "unknown"])


_DRAWN = ["mean", "error", "low", "high"]
_WAYS = ["released", "alone", "pooled"]


def _drawn(f: Document) -> List[List[Any]]:
    rows = [[w, m, *(f[w][m][n] for n in _DRAWN)] for w in _WAYS for m in ("accuracy", "auc")]
    return [*rows, ["majority", "accuracy", f["majority"], None, None, None]]


def forecast(said: Document) -> pd.DataFrame:
    if said.get("forecast"):
        return _frame(_drawn(said["forecast"]), ["way", "measure"], _DRAWN)
    if said.get("labels"):
        names = ["epsilon_spent", "keep", "most_kept", "share_error"]
        return _frame([[m["mechanism"], *(m[n] for n in names)] for m in said["labels"]["mechanisms"]], ["mechanism"], names)
    if said.get("share_error"):
        return _frame([["share_error", said["share_error"]]], ["measure"], ["value"])
    raise NotHeld("a forecast of a %s study is in words: %s" % (said["kind"], said.get("noise_forecast", "")))


def sweep(said: Document) -> pd.DataFrame:
    if not said.get("curves"):
        raise NotHeld('this forecast has no curves: ask for them by sweep="epsilon", "parties" or "records"')
    rows = [[c["against"], p["helps"], *r[:2], p["at"], *r[2:]] for c in said["curves"] for p in c["points"] for r in _drawn(p)]
    return _frame(rows, ["against", "helps", "way", "measure"], ["at", *_DRAWN], order=["against", "at", "way", "measure", *_DRAWN, "helps"])


def needed(said: Document) -> pd.DataFrame:
    if not said.get("labels"):
        raise NotHeld("how many labels it takes is forecast of labels studies, and this is one of kind %s" % said["kind"])
    rows = [[r["mechanism"], r["epsilon"], r["keep"], *r["needed"]] for r in said["labels"]["table"]]
    return _frame(rows, ["mechanism"], ["epsilon", "keep"], ["for_0.95", "for_0.99", "for_0.999"])
