# Needs Python 3.7 and nothing else. As a program it reads CSV and writes CSV:
#
#     python3 model.py people.csv > predictions.csv
#
# As a module:
#
#     import model
#     model.values(record)    # one number a class; a record is a dict of cells by column
#     model.predict(record)   # the class
#
# Cells are numbers or texts; None, NaN and "" are missing, and so is a column that is
# not given.
import csv
import json
import math
import re
import sys

MODEL = json.loads(r"""
@MODEL@
""")

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")


def _number(cell):
    """The finite number that a cell is, or None."""
    text = str(cell).strip()
    if text == MODEL.get("missing") or not _NUMBER.match(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def _canonical(text):
    text = text.strip()
    return float(text) + 0.0 if _NUMBER.match(text) else None


for _c in MODEL["columns"]:
    if _c["kind"] == "categorical":
        _c["exact"], _c["numbers"] = {}, {}
        for _i, _level in enumerate(_c["levels"]):
            _c["exact"][_level] = _i
            _n = _canonical(_level)
            if _n is not None:
                _c["numbers"].setdefault(_n, _i)


def _given(cell):
    try:
        return "" if cell is None or cell != cell else cell
    except TypeError:  # pandas' NA says neither yes nor no
        return ""


def encode(record):
    """The encoded numbers, in [0, 1], of a record: a dict from column to cell."""
    x = [0.0] * MODEL["encoded"]
    for c in MODEL["columns"]:
        cell = _given(record.get(c["name"]))
        if c["kind"] == "categorical":
            text = str(cell).strip()
            i = c["exact"].get(text)
            if i is None:
                i = c["numbers"].get(_canonical(text))
            x[c["other"] if i is None else c["at"] + i] = 1.0
            continue
        value = _number(cell)
        if value is None:
            x[c["at"]] = 0.5
            if c.get("flag"):
                x[c["at"] + 1] = 1.0
            continue
        low, high = c.get("min", 0.0), c.get("max", 0.0)
        value = min(max(value, low), high)
        if c.get("log"):
            value, low, high = math.log1p(value), math.log1p(low), math.log1p(high)
        x[c["at"]] = min(max((value - low) / (high - low), 0.0), 1.0)
    return x


def scores(record):
    """One score a class."""
    x = encode(record)
    for s in MODEL["steps"]:
        if s["op"] == "standard":
            x = [min(max((v - m) * f, -s["cut"]), s["cut"]) for v, m, f in zip(x, s["mean"], s["factor"])]
        elif s["op"] == "linear":
            out = list(s["offset"])
            for v, row in zip(x, s["matrix"]):
                if v != 0.0:
                    for k, w in enumerate(row):
                        out[k] += v * w
            x = out
        elif s["op"] == "ball":
            norm = max(1.0, math.sqrt(math.fsum(v * v for v in x)))
            x = [v / norm for v in x]
        else:
            raise ValueError("this model has a step that this program does not know: " + s["op"])
    return x


def values(record):
    """One number a class: MODEL["output"] says what they are."""
    s = scores(record)
    if MODEL["output"] == "score":
        return s
    top = max(s)
    e = [math.exp(v - top) for v in s]
    return [v / sum(e) for v in e]


def predict(record):
    """The class with the largest score, the first of equals."""
    s = scores(record)
    return MODEL["classes"][s.index(max(s))]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python3 %s RECORDS.csv > predictions.csv" % sys.argv[0])
    for warning in MODEL.get("warnings", []):
        print("warning: " + warning, file=sys.stderr)
    name = sys.argv[1]
    try:
        file = open(name, newline="", encoding="utf-8-sig")
    except OSError as reason:
        sys.exit("%s cannot be read: %s" % (name, reason.strerror))
    with file:
        try:
            _answer(name, file)
        except (UnicodeDecodeError, csv.Error) as reason:
            sys.exit("%s is not CSV in UTF-8: %s" % (name, reason))


def _answer(name, file):
    """Write what the model says of the records of a file."""
    rows = csv.DictReader(file, skipinitialspace=True)
    names = [n.strip() for n in rows.fieldnames or []]
    rows.fieldnames = names
    lacking = [c["name"] for c in MODEL["columns"] if c["name"] not in names]
    if lacking:
        sys.exit("%s has no column %s" % (name, ", ".join(lacking)))
    sys.stdout.reconfigure(encoding="utf-8", newline="")
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["row", "predicted"] + [MODEL["output"] + "_" + c for c in MODEL["classes"]])
    for i, row in enumerate(rows, 1):
        out.writerow([i, predict(row)] + [repr(p) for p in values(row)])


if __name__ == "__main__":
    main()
