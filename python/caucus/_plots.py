"""Drawings of releases, simulations and forecasts, with Matplotlib."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from . import _frames
from ._frames import EVERYBODY, NotHeld

if TYPE_CHECKING:
    import pandas as pd

    from ._release import Release

# Colours that can be distinguished with any colour vision (Okabe & Ito 2008).
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
GREY = "#8C8C8C"
_MOST_GROUPS = 6  # lines or rows of dots of one colour each
_MOST_LEVELS = 8


def pyplot() -> Any:
    """matplotlib.pyplot, or an ImportError that says how to get it."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plots need Matplotlib: pip install matplotlib") from None
    return pyplot


def _axes(ax: Any, width: float, height: float) -> Any:
    plt = pyplot()
    return ax if ax is not None else plt.subplots(figsize=(width, height), layout="constrained")[1]


def _bare(ax: Any) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)


def _dots(ax: Any, names: Sequence[str], value: Any, low: Any, high: Any, colour: Any = COLOURS[0], at: Any = None, label: Optional[str] = None) -> None:
    """A row for each name, the first on top: a dot and its interval. An infinite end is drawn
    beyond all other ends."""
    at = list(range(len(names))) if at is None else at
    value, low, high = list(value), list(low), list(high)
    finite = [v for v in [*value, *low, *high] if math.isfinite(v)]
    least, most = (min(finite), max(finite)) if finite else (0.0, 1.0)
    low = [v if math.isfinite(v) else least - 0.1 * (most - least) for v in low]
    high = [v if math.isfinite(v) else most + 0.1 * (most - least) for v in high]
    for y, v, a, b, c in zip(at, value, low, high, colour if isinstance(colour, list) else [colour] * len(names)):
        ax.plot([a, b], [y, y], color=c, linewidth=1.8, solid_capstyle="butt", zorder=2)
        ax.plot([v], [y], "o", color=c, markersize=5.5, zorder=3, label=label)
        label = None
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    _bare(ax)
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)


def _legend(ax: Any, given: Any, columns: int) -> None:
    """A legend, below the drawing or, if the caller gave the axes, inside them."""
    if given is not None:
        ax.legend(frameon=False, fontsize="small", loc="best")
    else:
        ax.figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def release(of: Release, data: Any, ax: Any) -> Any:
    pyplot()
    draw = {"classify": _coefficients, "labels": _shares, "describe": _table_one, "evaluate": _evaluation, "ratio": _shares, "regress": _changes, "reweigh": _means, "survival": _curves}.get(of.kind)
    if draw is None:
        raise NotHeld("there is no drawing of a release of kind %s" % of.kind)
    if data is not None and of.kind != "ratio":
        raise NotHeld("a %s release says nothing of other records: leave data out" % of.kind)
    return draw(of, data, ax)


def _changes(of: Release, _: Any, ax: Any) -> Any:
    return _change_dots(of._of("changes"), _title(of, "Changes, 95 % intervals"), ax)


def _change_dots(body: Dict[str, Any], title: str, ax: Any) -> Any:
    """Changes for a standard deviation of numbers and for levels, beside 0; of a logarithm, factors
    beside 1."""
    told = _frames.changes(body).dropna(subset=["value"])
    if told.empty:
        raise NotHeld("changes: no coefficient is known: changes() says why of each")
    logs = {c["column"] for c in body["coefficients"] if c.get("log")}
    value, low, high = (told[n] * told["spread"] for n in ("value", "low", "high"))
    factor_of, none, label = body.get("factor_of"), 0, "change of %s" % body["outcome"]
    if body.get("share"):
        label = "change of the share with %s" % body["outcome"]
    ax = _axes(ax, 7, 1.4 + 0.3 * len(told))
    if factor_of:
        value, low, high, none, label = value.map(math.exp), low.map(math.exp), high.map(math.exp), 1, "factor of %s" % factor_of
        ax.set_xscale("log")
    _dots(ax, [_step(c, logs) for c in told.itertuples()], value, low, high, [COLOURS[0] if a > none or b < none else GREY for a, b in zip(low, high)])
    if factor_of:
        from matplotlib import ticker

        ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: "%.3g" % v))
        if max(high) < 5 * min(low):  # else the marks at 1, 10, … have room alone
            ax.xaxis.set_minor_formatter(ax.xaxis.get_major_formatter())
    ax.axvline(none, color="black", linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    ax.set_xlabel(label)
    ax.set_title(title, loc="left")
    return ax


def _step(c: Any, logs: Any) -> str:
    """The difference that a dot shows, in the words of the release's page."""
    if c.level:
        return "%s: %s, not %s" % (c.column, c.level, c.to)
    if c.column in logs:
        return "1 + %s, times %.3g" % (c.column, math.exp(c.spread))
    return "%s, %.3g more" % (c.column, c.spread)


def _curves(of: Release, _: Any, ax: Any) -> Any:
    return _survival(of._of("curves"), _title(of, "Survival, 95 % bands"), ax)


def _survival(body: Dict[str, Any], title: str, ax: Any) -> Any:
    told, given = _frames.curves(body), ax
    ax = _axes(ax, 6.4, 4.2)
    for k, (name, g) in enumerate(told.groupby("group", sort=False)):
        colour = COLOURS[k % len(COLOURS)]
        ax.plot([0, *g["time"]], [1, *g["value"]], color=colour, label=("%s %s" % (body.get("by", ""), name)).strip())
        ax.fill_between([0, *g["time"]], [1, *g["low"]], [1, *g["high"]], color=colour, alpha=0.18, linewidth=0)
    _bare(ax)
    ax.set_ylim(0, 1.02)
    ax.set_xlim(left=0)
    unit = body.get("time_unit", body["time"])
    ax.set_xlabel(body["time"] if unit == body["time"] else "%s (%s)" % (body["time"], unit))
    ax.set_ylabel("share without %s" % body["event"])
    ax.set_title(title, loc="left")
    if told["group"].nunique() > 1:
        _legend(ax, given, 4)
    return ax


def _title(of: Release, text: str) -> str:
    return text + (" (simulated)" if of.simulated else "")


def _coefficients(of: Release, _: Any, ax: Any) -> Any:
    told = of.coefficients().dropna(subset=["odds_ratio"])
    if told.empty:
        raise NotHeld("coefficients: the error of none is known: coefficients() says why of each")
    ax = _axes(ax, 7, 1.4 + 0.3 * len(told))
    sure = [COLOURS[0] if a > 1 or b < 1 else GREY for a, b in zip(told["odds_low"], told["odds_high"])]
    _dots(ax, list(told.index), told["odds_ratio"], told["odds_low"], told["odds_high"], sure)
    _odds_scale(ax, told)
    ax.axvline(1, color="black", linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    ax.set_xlabel("odds ratio, 95 % interval")
    ax.set_title(_title(of, "Odds of %s, all else alike" % told.attrs["class"]), loc="left")
    return ax


def _odds_scale(ax: Any, told: pd.DataFrame) -> None:
    """A logarithmic scale with readable marks, which ends at 1/1000 and 1000 at most."""
    from matplotlib import ticker

    low, high = max(told["odds_low"].min() / 1.15, 1e-3), min(told["odds_high"].max() * 1.15, 1e3)
    low, high = min(low, 0.7), max(high, 1.4)
    ax.set_xscale("log")
    ax.set_xlim(low, high)
    marks = [0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000]
    if high / low > 1000:
        marks = [0.001, 0.01, 0.1, 1, 10, 100, 1000]
    ax.xaxis.set_major_locator(ticker.FixedLocator([m for m in marks if low <= m <= high]))
    ax.xaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: "%g" % v))
    ax.xaxis.set_minor_locator(ticker.NullLocator())


def _evaluation(of: Release, _: Any, ax: Any) -> Any:
    if ax is not None:
        raise ValueError("ROC and calibration take two axes: leave ax out")
    plt = pyplot()
    measures, roc, calibration = of.measures(), of.roc(), of.calibration()
    classes = list(dict.fromkeys(measures["class"]))
    figure, axes = plt.subplots(len(classes), 2, figsize=(9.6, 4.7 * len(classes)), layout="constrained", squeeze=False)
    for row, name in zip(axes, classes):
        auc = measures[(measures["class"] == name) & (measures["measure"] == "auc")].dropna(subset=["value"])
        shown = [(a.by, a.level, a) for a in auc.itertuples()][:_MOST_GROUPS]
        _roc(row[0], roc[roc["class"] == name], shown)
        _calibration(row[1], calibration[calibration["class"] == name], [g[:2] for g in shown], _probabilities(of, name))
        row[0].set_title(_title(of, "ROC, class %s" % name), loc="left")
        row[1].set_title("Calibration, class %s" % name, loc="left")
    return axes[0] if len(classes) == 1 else axes


def _probabilities(of: Release, name: str) -> bool:
    return any(c["probability"] for c in of.document["result"]["classes"] if c["class"] == name)


def _named(by: str, level: str) -> str:
    return "%s %s" % (by, level) if by else level


def _of(frame: pd.DataFrame, by: str, level: str) -> pd.DataFrame:
    return frame[(frame["by"] == by) & (frame["level"] == level)]


def _roc(ax: Any, roc: pd.DataFrame, shown: List[Tuple[str, str, Any]]) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
    for k, (by, level, auc) in enumerate(shown):
        curve = _of(roc, by, level)
        label = "%s: AUC %.3f (%s)" % (_named(by, level), auc.value, _interval(auc.low, auc.high))
        width, order = (1.4, 2) if by else (2.2, 3)
        ax.plot(curve["false_positive_rate"], curve["true_positive_rate"], color=COLOURS[k], linewidth=width, label=label, zorder=order)
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), xlabel="1 − specificity", ylabel="sensitivity", aspect="equal")
    _bare(ax)
    if shown:
        ax.legend(loc="lower right", frameon=False, fontsize="small")


def _interval(low: float, high: float) -> str:
    if math.isinf(low) or math.isinf(high):
        return "any" if math.isinf(low) and math.isinf(high) else "%.3f or less" % high if math.isinf(low) else "%.3f or more" % low
    return "%.3f to %.3f" % (low, high)


def _calibration(ax: Any, bins: pd.DataFrame, shown: List[Tuple[str, str]], probabilities: bool) -> None:
    if probabilities:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.9, linestyle=(0, (4, 3)))
        ax.set(xlim=(-0.02, 1.02), aspect="equal")
    for k, (by, level) in enumerate(shown):
        of = _of(bins, by, level).dropna(subset=["observed"])
        if not by:
            ax.vlines(of["score"], of["low"].clip(0, 1), of["high"].clip(0, 1), color=COLOURS[k], linewidth=1.4, zorder=2)
        width, size, order = (1.1, 3, 2) if by else (1.6, 4.5, 3)
        ax.plot(of["score"], of["observed"], "o-", color=COLOURS[k], linewidth=width, markersize=size, label=_named(by, level), zorder=order)
    ax.set(ylim=(-0.02, 1.02), xlabel="probability that the score says" if probabilities else "score", ylabel="observed share of the class")
    _bare(ax)
    if len(shown) > 1:
        ax.legend(loc="upper left", frameon=False, fontsize="small")


def _shares(of: Release, data: Any, ax: Any) -> Any:
    from matplotlib import ticker

    frame = of.shares(data) if data is not None else of.shares()
    note, colours = "± standard error", [COLOURS[0]] * len(frame)
    if data is not None:
        low, high, note = frame["low"], frame["high"], "95 % interval"
        if frame.attrs.get("no_interval"):
            low, high, note, colours = frame["share"], frame["share"], "no interval: " + frame.attrs["no_interval"], [GREY] * len(frame)
    else:
        if of.kind == "ratio":
            frame = frame[frame["set"] == "all"]
            note = "in all sets of the study together"
        sd = frame["sd"].fillna(0)
        low, high = frame["share"] - sd, frame["share"] + sd
    given = ax
    ax = _axes(ax, 6.4, 1.5 + 0.35 * len(frame))
    _dots(ax, list(frame["class"]), frame["share"], low, high, colours, label="these records")
    if data is not None:
        ax.plot(frame["training"], range(len(frame)), "|", color="black", markersize=13, label="the study's sets")
        _legend(ax, given, 2)
    ax.set_xlim(-0.01, 1.01)
    ax.xaxis.set_major_formatter(ticker.PercentFormatter(1, decimals=0))
    ax.set_xlabel("share of the records, %s" % note)
    ax.set_title(_title(of, "Class shares"), loc="left")
    return ax


def _means(of: Release, _: Any, ax: Any) -> Any:
    frame = of.means().dropna(subset=["weighted_pool"])
    if frame.empty:
        raise NotHeld("the release holds no means beside those of the pool")
    given = ax
    ax = _axes(ax, 7, 1.8 + 0.34 * len(frame))
    off = 1.96 * frame["noise_sd"]
    _dots(ax, list(frame["feature"]), frame["released"], frame["released"] - off, frame["released"] + off, label="private records, with 95 % of the noise")
    at = range(len(frame))
    ax.plot(frame["weighted_pool"], at, "D", color=COLOURS[1], markersize=5, label="weighted pool", zorder=4)
    ax.plot(frame["pool"], at, "o", markerfacecolor="none", markeredgecolor=GREY, markersize=6, label="pool", zorder=3)
    ax.set_xlabel("mean, from 0 to 1 between the schema's bounds; share of a level")
    ax.set_title(_title(of, "Features that differ most"), loc="left")
    _legend(ax, given, 3)
    return ax


def _table_one(of: Release, _: Any, ax: Any) -> Any:
    """A panel for each variable: shares of levels, or mean and quartiles, a colour for each group.
    Quartiles that are bounded on one side only are left out, as on the page of a release."""
    if ax is not None:
        raise ValueError("a table one takes several axes: leave ax out")
    from matplotlib import ticker

    plt = pyplot()
    frame = of.table_one()
    ends = {c["column"]: (c["edges"][0], c["edges"][-1]) for c in of.document["result"].get("columns") or [] if c.get("edges")}
    least, most = (frame["variable"].map({n: e[k] for n, e in ends.items()}).astype(float) for k in (0, 1))
    open_ended = frame["statistic"].isin(_QUARTILES) & ((frame["low"] <= least) | (frame["high"] >= most))
    known = frame[~open_ended].dropna(subset=["value"])
    by = of.document["result"].get("by")
    panels: List[Tuple[str, bool]] = []
    for name in dict.fromkeys(known["variable"]):
        mine = known[known["variable"] == name]
        for share in (False, True):
            if ((mine["statistic"] == "share") == share).any():
                panels.append((name, share))
    if not panels:
        raise NotHeld("noise hides all of this table: table_one() says so of each number")
    alone = ["", by]  # of all groups together
    groups = list(dict.fromkeys(known.loc[~known["variable"].isin(alone), "group"]))[:_MOST_GROUPS]
    parts = [_panel(known, name, share) for name, share in panels]
    columns = min(3, len(parts))
    lines = [max(len(p[0]) for p in parts[i : i + columns]) for i in range(0, len(parts), columns)]
    heights = [0.9 + 0.36 * n * max(1, 0.55 * len(groups)) for n in lines]
    size = (4.3 * columns, sum(heights) + 0.5)
    figure, axes = plt.subplots(len(lines), columns, figsize=size, layout="constrained", squeeze=False, height_ratios=heights)
    used = []
    for panel, ((name, share), (rows, some)) in zip(axes.flat, zip(panels, parts)):
        _fill(panel, rows, some, groups, name in alone)
        panel.set_title(name or "all records", loc="left", fontsize="medium")
        if share:
            panel.xaxis.set_major_formatter(ticker.PercentFormatter(1, decimals=0))
            right = panel.get_xlim()[1]
            panel.set_xlim(-0.02 * right, right)
        panel.xaxis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 5, 10]))
        used.append(panel)
    for panel in list(axes.flat)[len(used):]:
        panel.remove()
    figure.suptitle(_title(of, "Table one, with 95 % intervals" + (", by %s" % by if by else "")), x=0.01, ha="left")
    if len(groups) > 1:
        marks = [plt.Line2D([], [], color=COLOURS[k], marker="o", linewidth=1.8, label=g) for k, g in enumerate(groups)]
        figure.legend(handles=marks, loc="outside upper right", ncols=len(groups), frameon=False)
    return axes


_QUARTILES = ["lower quartile", "median", "upper quartile"]


def _panel(known: pd.DataFrame, name: str, share: bool) -> Tuple[List[str], pd.DataFrame]:
    """The rows of a panel, and their estimates as far as they are known."""
    mine = known[(known["variable"] == name) & ((known["statistic"] == "share") == share)]
    mine = mine.assign(row=mine["level" if share else "statistic"])
    if not share:
        mine = mine[~mine["statistic"].isin(["sd", "geometric sd"])]
    rows = list(dict.fromkeys(mine["row"]))
    if len(rows) > _MOST_LEVELS:
        largest = mine.groupby("row")["count"].sum().nlargest(_MOST_LEVELS).index
        rows = [r for r in rows if r in largest]
    return rows, mine


def _fill(ax: Any, rows: List[str], mine: pd.DataFrame, groups: List[str], alone: bool) -> None:
    together = [g for g in groups if g in set(mine["group"])] if not alone else ["all"]
    step = 0.72 / max(1, len(together))
    for k, group in enumerate(together):
        some = {r.row: r for r in mine[mine["group"] == group].itertuples()}
        have = [r for r in rows if r in some]
        at = [rows.index(r) + (k - (len(together) - 1) / 2) * step for r in have]
        colour = "black" if alone else COLOURS[groups.index(group)]
        _dots(ax, rows, [_shown(some[r]) for r in have], [some[r].low for r in have], [some[r].high for r in have], colour, at)


def _shown(row: Any) -> float:
    """A value; 0 for a share that noise made negative."""
    return max(float(row.value), 0.0) if row.statistic == "share" else float(row.value)


def simulated(said: Dict[str, Any], ax: Any) -> Any:
    pyplot()
    frame = _frames.simulated(said)
    kind = said["study"]
    if kind == "describe":
        return _beside(frame[frame["statistic"] == "share"], ["variable", "level", "group"], "share of the records", ax)
    if kind == "evaluate":
        return _beside(frame[frame["measure"] == "AUC"], ["class", "group"], "AUC", ax)
    if kind == "regress":
        return _change_dots(said["released"], "One simulated release", ax)
    if kind == "survival":
        ax = _survival(said["released"], "One simulated release, 95 % bands", ax)
        for k, (_, g) in enumerate(frame.groupby("group", sort=False)):
            ax.plot([0, *g["time"]], [1, *g["true"]], color="black", linewidth=0.8, linestyle=(0, (3, 2)), label="" if k else "without noise")
        ax.legend(frameon=False, fontsize="small")
        return ax
    name = {"classify": "accuracy", "ratio": "l1", "labels": "accuracy"}.get(kind)
    if name is None:
        names, label = ["true", "weighted pool", "without noise", "pool as it is"], "share of the private records that match"
        values = [said[n] for n in ("truth", "estimate", "unperturbed", "unweighted")]
        sd, note = {"weighted pool": said["rmse"]}, "± root mean squared error"
    else:
        rows = frame[(frame["measure"] == name) & ~frame["of"].str.endswith("_sd")]
        names, values, label = [_WAYS.get(o, o) for o in rows["of"]], list(rows["value"]), _MEASURED[name]
        sd, note = {"released": dict(zip(frame["of"], frame["value"])).get("released_sd", 0)}, "± standard deviation over repeats"
        if kind == "labels":
            names, values = ["released", "without noise", "largest class"], [said["accuracy"], said["unperturbed"]["accuracy"], said["majority_class"]]
            sd = {"released": said["sd"]["accuracy"]}
    off = [sd.get(n, 0) for n in names]
    ax = _axes(ax, 6.4, 1.5 + 0.35 * len(names))
    low, high = [v - s for v, s in zip(values, off)], [v + s for v, s in zip(values, off)]
    _dots(ax, names, values, low, high, [COLOURS[0] if n in ("released", "weighted pool") else GREY for n in names])
    ax.set_xlabel(label + (", " + note if any(off) else ""))
    ax.set_title("A simulated %s study" % kind, loc="left")
    return ax


_WAYS = {
    "unperturbed": "without noise", "pooled": "records pooled", "local_mean": "one party alone", "majority_class": "largest class",
    "training_ratio": "shares of the sets",
}
_MEASURED = {"accuracy": "accuracy on test records", "l1": "L1 distance to the true shares"}


def _beside(frame: pd.DataFrame, names: List[str], label: str, ax: Any) -> Any:
    """Released numbers of one scale, with their intervals, and the true numbers."""
    frame = frame.dropna(subset=["value"])
    if frame.empty:
        raise NotHeld("noise hides all of this: frame() says so of each number")
    rows = [" ".join(str(v) for v in r if v and v != "all") for r in frame[names].itertuples(index=False)]
    given = ax
    ax = _axes(ax, 7, 1.7 + 0.24 * len(rows))
    value = frame["value"].clip(lower=0)  # a share that noise made negative
    _dots(ax, rows, value, frame["low"], frame["high"], label="released, with 95 % interval")
    ax.plot(frame["true"], range(len(rows)), "|", color="black", markersize=10, label="true", zorder=4)
    ax.set_xlabel(label)
    _legend(ax, given, 2)
    ax.set_title("Released and true", loc="left")
    return ax


def forecast(said: Dict[str, Any], ax: Any) -> Any:
    pyplot()
    if said.get("curves"):
        return _swept(said, ax)
    frame = _frames.forecast(said)
    if "way" not in frame:
        raise NotHeld("only a classifier's forecast is drawn: frame() has the numbers")
    frame = frame[frame["measure"] == "accuracy"]
    ax = _axes(ax, 6.4, 3)
    names = [_FORECAST[w] for w in frame["way"]]
    _dots(ax, names, frame["mean"], frame["low"].fillna(frame["mean"]), frame["high"].fillna(frame["mean"]), [COLOURS[0], GREY, GREY, GREY])
    ax.set_xlabel("accuracy: mean, and range of 90 % of draws")
    ax.set_title("Would it help its parties? %s" % said["forecast"]["helps"].capitalize(), loc="left")
    return ax


_FORECAST = {"released": "released", "alone": "one party alone", "pooled": "records pooled", "majority": "largest class"}
_SWEPT = {"epsilon": "ε", "parties": "parties", "records": "records of each party"}


def _swept(said: Dict[str, Any], ax: Any) -> Any:
    from matplotlib import ticker

    plt = pyplot()
    frame = _frames.sweep(said)
    frame = frame[frame["measure"] == "accuracy"]
    against = list(dict.fromkeys(frame["against"]))
    if ax is not None and len(against) > 1:
        raise ValueError("so many sweeps take as many axes: leave ax out")
    axes = [ax] if ax is not None else plt.subplots(1, len(against), figsize=(max(6.4, 4.6 * len(against)), 3.9), layout="constrained", squeeze=False)[1][0]
    for panel, name in zip(axes, against):
        for k, (way, words) in enumerate(_FORECAST.items()):
            of = frame[(frame["against"] == name) & (frame["way"] == way)]
            panel.plot(of["at"], of["mean"], "o-" if way != "majority" else "--", color=COLOURS[k] if way != "majority" else GREY, label=words, markersize=4)
            if way == "released":
                panel.fill_between(of["at"], of["low"], of["high"], color=COLOURS[k], alpha=0.15, linewidth=0, label="released, 90 % of draws")
        panel.set_xscale("log")
        panel.xaxis.set_major_locator(ticker.FixedLocator(sorted(set(frame.loc[frame["against"] == name, "at"]))))
        panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: "%g" % v))
        panel.xaxis.set_minor_locator(ticker.NullLocator())
        panel.set_xlabel(_SWEPT.get(name, name))
        panel.set_ylabel("accuracy")
        _bare(panel)
    _legend(axes[0], ax, 5 if len(axes) > 1 else 3)
    return axes[0] if len(axes) == 1 else axes
