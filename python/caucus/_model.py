"""Turn a release into the plain steps that `caucus release export --to json` writes, and compute
them with NumPy."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Document = Dict[str, Any]
Steps = List[Tuple[str, Any]]

FORM = 1
MOST_COLUMNS = 100_000  # as in caucus: what names or encodes to more is no schema
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")


class Explained(ValueError):
    """A refusal whose message says what to do."""


class NeedsExport(Explained):
    """This package cannot read the release's map by itself."""


def of_release(document: Document) -> Document:
    """The steps of a release's document."""
    plan, manifest = document["plan"], document["manifest"]
    body = document["result"]["body"]
    if isinstance(body, dict) and "classifier" in body:
        found = body["classifier"]
    else:
        raise Explained("a %s release holds no classifier: use the caucus program with it" % plan.get("kind"))
    schema = plan["schema"]
    classes = schema["label"]["classes"]
    columns, encoded = _columns(schema["features"])
    steps = _map_steps(plan["map"])
    if found["classes"] != classes:
        raise ValueError("its classifier is of the classes %r, its schema of %r" % (found["classes"], classes))
    width = len(found["weights"]) - 1
    factor = (1 - 1e-12) / math.sqrt(2)
    weights = np.zeros((width + 1, len(classes)))
    rows = np.array(found["weights"], dtype=float)  # a calibration is in them
    weights[:, len(classes) - rows.shape[1]:] = rows * factor
    if len(classes) == 2 and found["output"] == "score":
        weights[:, 0] = -weights[:, 1]
    steps += [("ball", None), ("linear", (weights[:-1], weights[-1]))]
    return {
        "classes": classes,
        "output": found["output"],
        "missing": schema.get("missing", ""),
        "columns": columns,
        "encoded": encoded,
        "steps": steps,
        "warnings": document["result"].get("warnings") or [],
        "about": {
            "study": plan["name"], "plan": manifest["plan_hash"], "kind": plan["kind"], "mechanism": plan["mechanism"],
            "unit": plan["unit"], "epsilon": plan["epsilon"], "delta": plan["delta"], "parties": manifest["parties"],
            "simulated": plan.get("simulated", False),
        },
    }


def of_export(document: Document) -> Document:
    """The steps of a document that `caucus release export --to json` wrote."""
    if document["caucus_model"] != FORM:
        raise Explained("the file has form %s, this package reads form %d: use the same version of both" % (document["caucus_model"], FORM))
    steps: Steps = []
    for s in document["steps"]:
        if s["op"] == "standard":
            steps.append(("standard", (np.array(s["mean"]), np.array(s["factor"]), s["cut"])))
        elif s["op"] == "linear":
            steps.append(("linear", (np.array(s["matrix"], dtype=float), np.array(s["offset"], dtype=float))))
        elif s["op"] == "ball":
            steps.append(("ball", None))
        else:
            raise Explained("this package does not know the step %r: use a newer one" % s["op"])
    return {**document, "steps": steps, "missing": document.get("missing", ""), "warnings": document.get("warnings") or []}


def _names(feature: Document) -> List[str]:
    """The columns of a feature: "x8..x11" is x8, x9, x10, x11."""
    if feature.get("column"):
        return [feature["column"]]
    names: List[str] = []
    for name in feature["columns"]:
        first, dots, last = name.partition("..")
        stem = first.rstrip("0123456789")
        start, end = first[len(stem):], last[len(stem):] if last.startswith(stem) else last
        if dots and last.startswith(stem) and start.isdigit() and end.isdigit() and int(end) >= int(start):
            if int(end) - int(start) >= MOST_COLUMNS:
                raise ValueError("%r stands for more than %d columns" % (name, MOST_COLUMNS))
            names += [stem + str(i) for i in range(int(start), int(end) + 1)]
        else:
            names.append(name)
        if len(names) > MOST_COLUMNS:
            raise ValueError("it names more than %d columns" % MOST_COLUMNS)
    return names


def _columns(features: List[Document]) -> Tuple[List[Document], int]:
    columns: List[Document] = []
    at = 0
    for f in features:
        for name in _names(f):
            c = {"name": name, "kind": f["kind"], "at": at, "other": -1}
            if f["kind"] == "categorical":
                levels = f["levels"]
                c["levels"] = levels
                c["other"] = at + (levels.index("other") if "other" in levels else len(levels))
                at += len(levels) + (0 if "other" in levels else 1)
            else:
                c.update(min=f.get("min", 0.0), max=f.get("max", 0.0), log=f.get("log", False), flag=f.get("missing", False))
                at += 2 if c["flag"] else 1
            columns.append(c)
        if len(columns) > MOST_COLUMNS:
            raise ValueError("it names more than %d columns" % MOST_COLUMNS)
    return columns, at


def _map_steps(m: Document) -> Steps:
    steps = _map_steps(m["first"]) if m.get("first") else []
    scale = m["scale"]
    if not 0 < scale < math.inf:
        raise ValueError("its map's scale is %r" % (scale,))
    if m["kind"] == "identity":
        return steps + [("scale", scale)]
    if m["kind"] == "pca":
        directions = np.array(m["directions"], dtype=np.float32).astype(float).reshape(m["inputs"], m["outputs"])
        return steps + [("linear", (directions / scale, -np.array(m["mean"]) @ directions / scale))]
    if m["kind"] == "standard":
        s = m["standard"]
        return steps + [("standard", (np.array(s["mean"]), np.array(s["factor"]), s["cut"])), ("scale", scale)]
    raise NeedsExport("its map is of kind " + m["kind"])


def _number(text: str, missing: str) -> float:
    if text == missing or not _NUMBER.match(text):
        return math.nan
    value = float(text)
    return value if math.isfinite(value) else math.nan


def _text(cell: Any) -> str:
    try:
        missing = cell is None or bool(cell != cell)
    except TypeError:  # pandas' NA says neither yes nor no
        missing = True
    return "" if missing else str(cell).strip()


def encode(model: Document, columns: Dict[str, List[Any]], n: int) -> NDArray[Any]:
    """Encode n rows, given as columns by name."""
    x = np.zeros((n, model["encoded"]))
    rows = np.arange(n)
    for c in model["columns"]:
        texts = [_text(v) for v in columns[c["name"]]]
        if len(texts) != n:
            raise ValueError("column %s has %d rows, others have %d" % (c["name"], len(texts), n))
        if c["kind"] == "categorical":
            exact = {level: i for i, level in reversed(list(enumerate(c["levels"])))}
            numbers: Dict[float, int] = {}
            for i, level in enumerate(c["levels"]):
                if _NUMBER.match(level.strip()):
                    numbers.setdefault(float(level), i)
            known = {}
            for text in set(texts):
                place = exact.get(text)
                if place is None and _NUMBER.match(text):
                    place = numbers.get(float(text))
                known[text] = c["other"] if place is None else c["at"] + place
            x[rows, [known[t] for t in texts]] = 1.0
            continue
        memo = {t: _number(t, model["missing"]) for t in set(texts)}
        value = np.array([memo[t] for t in texts], dtype=float)
        low, high = c.get("min", 0.0), c.get("max", 0.0)
        lacking = np.isnan(value)
        value = np.clip(value, low, high)
        if c.get("log"):
            value, low, high = np.log1p(value), math.log1p(low), math.log1p(high)
        x[:, c["at"]] = np.where(lacking, 0.5, np.clip((value - low) / (high - low), 0.0, 1.0))
        if c.get("flag"):
            x[:, c["at"] + 1] = lacking
    return x


def check(model: Document) -> None:
    """Refuse a model whose parts do not fit each other: an empty row must get a finite score for
    each class."""
    if model["output"] not in ("probability", "vote_share", "score"):
        raise ValueError("its output is %r" % (model["output"],))
    if not isinstance(model["warnings"], list) or not all(isinstance(w, str) for w in model["warnings"]):
        raise ValueError("its warnings are %r" % (model["warnings"],))
    if not isinstance(model["about"], dict) or not model["columns"]:
        raise ValueError("it does not say what it is of")
    if len(set(model["classes"])) < len(model["classes"]):
        raise ValueError("two of its classes are the same: %r" % (model["classes"],))
    for c in model["columns"]:
        _check_column(c, model["encoded"])
    for op, given in model["steps"]:
        for numbers in given if isinstance(given, tuple) else [given]:
            if numbers is not None and not np.isfinite(np.asarray(numbers, dtype=float)).all():
                raise ValueError("its step %s holds what is no number" % op)
    if not 0 < model["encoded"] <= MOST_COLUMNS:
        raise ValueError("it encodes to %r columns" % (model["encoded"],))
    row = {c["name"]: [None] for c in model["columns"]}
    got = scores(model, encode(model, row, 1))
    if got.shape != (1, len(model["classes"])) or not np.isfinite(got).all():
        raise ValueError("it gives no score for each of its %d classes" % len(model["classes"]))


def _check_column(c: Document, encoded: int) -> None:
    """Refuse a column without a valid place among a row's encoded numbers, or without bounds."""
    if c["kind"] == "categorical":
        last, other = c["at"] + len(c["levels"]) - 1, c["other"]
    elif c["kind"] == "numeric":
        last, other = c["at"] + bool(c.get("flag")), c["at"]
        low, high = c.get("min", 0.0), c.get("max", 0.0)
        if not -math.inf < low < high < math.inf or c.get("log") and low <= -1:
            raise ValueError("column %r is bounded by %r and %r" % (c["name"], low, high))
    else:
        raise ValueError("column %r is of kind %r" % (c["name"], c["kind"]))
    if not (0 <= c["at"] <= last < encoded and 0 <= other < encoded):
        raise ValueError("column %r stands at %r of %r numbers" % (c["name"], c["at"], encoded))


def scores(model: Document, x: NDArray[Any]) -> NDArray[Any]:
    """The score of each class for encoded rows."""
    for op, given in model["steps"]:
        if op == "standard":
            mean, factor, cut = given
            x = np.clip((x - mean) * factor, -cut, cut)
        elif op == "linear":
            matrix, offset = given
            x = x @ matrix + offset
        elif op == "scale":
            x = x / given
        elif op == "ball":
            x = x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
    return x
