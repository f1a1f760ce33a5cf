"""Reads exports with the programs that others wrote, and holds what they say to
caucus release predict: peers.py PEER FOLDER. A folder has records.csv, predictions.csv and the
export; .ci/peers makes them."""
import csv
import json
import math
import sys
import warnings
from pathlib import Path

MOST_OFF = 1e-9
folder = Path(sys.argv[2])


def rows(name):
    with open(folder / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def hold(labels, shares, quietly=False):
    """Fails unless labels and rows of shares are those of predict."""
    want = rows("predictions.csv")
    names = [n for n in want[0] if n not in ("row", "patient", "predicted")]
    assert len(labels) == len(want), (len(labels), len(want))
    worst = 0.0
    for w, label, share in zip(want, labels, shares):
        assert w["predicted"] == label, (w, label)
        worst = max([worst] + [abs(float(w[n]) - float(s)) for n, s in zip(names, share)])
    quietly or print("%-10s %-12s %d rows, off by at most %.1e" % (sys.argv[1], folder.name, len(want), worst))
    assert worst <= MOST_OFF, worst


def number(text):
    """A number of a data frame: what is none is missing."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def onnx():
    import numpy as np
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    records, feed = rows("records.csv"), {}
    for i in session.get_inputs():
        if i.type == "tensor(double)":
            feed[i.name] = np.array([[number(r[i.name])] for r in records])
        else:
            feed[i.name] = np.array([[r[i.name]] for r in records], dtype=object)
    label, shares = session.run(None, feed)
    hold(list(label), shares)


def sklearn():
    import caucus
    import pandas as pd
    from sklearn.base import clone, is_classifier
    from sklearn.pipeline import make_pipeline
    from sklearn.utils.validation import check_is_fitted

    def told(model, X):
        if hasattr(model, "predict_proba"):
            return model.predict_proba(X)
        s = model.decision_function(X)
        return [[-v, v] for v in s] if s.ndim == 1 else s

    recalibrated = (folder / "evaluation.json").exists()  # in the export alone
    for source in ("model.json",) if recalibrated else ("release.json", "model.json"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that shares and scores are no probabilities
                model = caucus.load(folder / source)
        except caucus.NeedsExport:
            assert "fourier" in folder.name, source
            continue
        check_is_fitted(model)
        assert is_classifier(model)
        texts = pd.read_csv(folder / "records.csv", dtype=str, keep_default_na=False)
        pipe = make_pipeline(clone(model)).fit(texts)
        hold(list(pipe.predict(texts)), told(pipe, texts))
        for X in (texts.to_dict("list"), texts.to_dict("records"), texts[list(model.feature_names_in_)].to_numpy()):
            hold(list(model.predict(X)), told(model, X), quietly=True)


def answer():
    """What a program or a database wrote as CSV."""
    got = rows("answer.csv")
    names = [n for n in rows("predictions.csv")[0] if n not in ("row", "patient", "predicted")]
    hold([g["predicted"] for g in got], [[g[n] for n in names] for g in got])


{"onnx": onnx, "sklearn": sklearn}.get(sys.argv[1], answer)()
