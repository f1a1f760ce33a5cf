"""Tests of frames, plots, simulate and forecast against the caucus program, which CAUCUS_BINARY
names, with pandas and Matplotlib. The numbers of frames are those of --json, to the digit."""

import ast
import contextlib
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1]))

import caucus  # noqa: E402
from caucus import _frames, _release, _studies  # noqa: E402

BINARY = os.environ.get("CAUCUS_BINARY")
SEX = ["evaluate.by", [{"column": "sex"}, {"column": "age", "edges": [65]}]]

# What makes a release of each kind, in this order: evaluate judges the first.
STUDIES = {
    "classify": {"parties": 6, "generate": 12000, "epsilon": 3},
    "describe": {"parties": 4, "generate": 3000, "epsilon": 2, "by": "sex"},
    "evaluate": {"parties": 6, "generate": 6000, "epsilon": 3, "set": dict([SEX], **{"evaluate.model": "classify.json", "evaluate.thresholds": [0.2, 0.5]})},
    "labels": {"parties": 4, "generate": 1500},
    "ratio": {"parties": 8, "records": 300, "generate": 8000},
    "reweigh": {"generate": 3000, "split": "sex=male", "query": "readmitted == yes", "folder": "hospitals", "repeats": 2},
    "regress": {"parties": 4, "generate": 6000, "outcome": "days", "set": {"regress.columns": ["age", "sex"]}},
    "survival": {"parties": 4, "generate": 6000, "time": "days", "by": "sex"},
}


def setUpModule():
    if not BINARY:
        raise unittest.SkipTest("CAUCUS_BINARY does not name the caucus program")
    import matplotlib

    matplotlib.use("Agg")
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    unittest.addModuleCleanup(os.chdir, os.getcwd())
    os.chdir(folder.name)
    for kind, settings in STUDIES.items():
        SIMULATED[kind] = caucus.simulate(kind, out=kind + ".json", **settings)
    caucus.simulate("describe", parties=3, generate=1500, sites=True, where="age >= 60", out="sites.json", set={"describe.bins": 4})
    caucus.simulate("describe", parties=3, generate=600, epsilon=0.1, out="hidden.json")
    caucus.simulate("describe", parties=3, generate=600, count=True, where="age >= 60", out="counted.json")


SIMULATED = {}


def said(*arguments):
    """The document that the program itself writes."""
    done = subprocess.run([BINARY, *arguments, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def loaded(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return caucus.load(name + ".json")


class Exact(unittest.TestCase):
    """Frames are compared with documents cell by cell."""

    def same(self, got, want, *where):
        got, want = list(got), list(want)
        self.assertEqual(len(got), len(want), where)
        for g, w in zip(got, want):
            if w is None:
                self.assertTrue(math.isnan(g), (g, where))
            else:
                self.assertEqual(g, w, where)

    def setUp(self):
        self.shown = {kind: said("release", "show", kind + ".json") for kind in self.kinds}
        self.body = {kind: self.shown[kind]["result"] for kind in self.kinds}

    kinds = ()


class OfEveryKind(Exact):
    kinds = tuple(STUDIES)

    def test_what_a_release_says(self):
        for kind, shown in self.shown.items():
            r = loaded(kind)
            self.assertEqual((r.kind, r.study, r.parties, r.answer, r.guarantee, r.simulated), (kind, "simulation", shown["parties"], shown["answer"], shown["guarantee"], True))
            self.assertEqual(r.document, shown)
            self.assertEqual(isinstance(r, caucus.Classifier), kind in ("classify", "labels"))

    def test_costs_and_totals(self):
        for kind, shown in self.shown.items():
            costs, totals = loaded(kind).costs(), loaded(kind).totals()
            for name in ("output", "mechanism", "epsilon", "delta", "rho"):
                self.same(costs[name], [c.get(name) for c in shown["costs"]], kind, name)
            for name in ("l1", "l2sq", "cells", "unit"):
                self.same(costs[name], [c["bound"][name] for c in shown["costs"]], kind, name)
            for name in ("unit", "epsilon", "delta", "why"):
                self.same(totals[name], [t[name] for t in shown["totals"]], kind, name)

    def test_tables_are_those_of_people(self):
        for kind, shown in self.shown.items():
            tables = loaded(kind).tables()
            self.assertEqual(list(tables), [t["title"] for t in shown.get("tables") or []])
            for t in shown.get("tables") or []:
                self.assertEqual(tables[t["title"]].reset_index().values.tolist(), t["rows"])

    def test_what_is_not_held_is_said(self):
        names = {n for all in _release.FRAMES.values() for n in all}
        arguments = {"predictions": ["records.csv"], "query": ["age >= 65", "pool.csv"]}
        for kind in STUDIES:
            for name in sorted(names - set(_release.FRAMES[kind]) - {"coefficients"}):
                with self.subTest(kind=kind, frame=name), self.assertRaisesRegex(caucus.NotHeld, "this %s release holds no .*it has .*costs\\(\\)" % kind):
                    getattr(loaded(kind), name)(*arguments.get(name, []))
        with self.assertRaisesRegex(caucus.NotHeld, "coefficients: none: the fit to privatised labels.*it has|release has shares"):
            loaded("labels").coefficients()
        with self.assertRaisesRegex(caucus.NotHeld, "holds no coefficients; it has table_one"):
            loaded("describe").coefficients()

    def test_every_kind_of_the_program_has_frames(self):
        with self.assertRaises(caucus.CommandFailed) as failed:
            caucus.forecast("nosuch", parties=3)
        kinds = re.search("the kinds are (.*)", str(failed.exception)).group(1)
        self.assertEqual(sorted(_release.FRAMES), sorted(kinds.split(", ")))

    def test_an_export_has_no_frames_and_predicts(self):
        subprocess.run([BINARY, "release", "export", "classify.json", "--out", "export.json"], capture_output=True, check=True)
        with self.assertRaisesRegex(caucus.NotHeld, "load the release itself"):
            loaded("export").costs()
        self.assertEqual(list(loaded("export").classes_), ["no", "yes"])


class Coefficients(Exact):
    kinds = ("classify", "labels")

    def test_odds_ratios(self):
        frame, all = loaded("classify").coefficients(), self.shown["classify"]["coefficients"]["of"]
        estimates = [c.get("log_odds") or {} for c in all]
        self.assertGreater(sum(map(bool, estimates)), 10)
        for name, key in (("log_odds", "value"), ("sd", "sd"), ("low", "low"), ("high", "high")):
            self.same(frame[name], [e.get(key) for e in estimates], name)
        for name, key in (("odds_ratio", "value"), ("odds_low", "low"), ("odds_high", "high")):
            self.same(frame[name], [math.exp(e[key]) if e else None for e in estimates], name)
        for name in ("per", "times"):
            self.same(frame[name], [c.get(name) for c in all], name)
        self.assertEqual(list(frame["column"]), [c["column"] for c in all])
        self.assertEqual(list(frame["untold"]), [c.get("untold", "") for c in all])
        told = frame.dropna(subset=["log_odds"])
        rows = self.shown["classify"]["tables"][0]["rows"]
        self.assertEqual(list(told.index), [r[0] for r in rows])
        self.assertEqual(list(told["reading"]), [r[-1] for r in rows])

    def test_paths(self):
        for kind, points in (("classify", self.body["classify"]["classifier"]["path"]), ("labels", self.body["labels"]["path"])):
            frame = loaded(kind).path()
            for name in frame:
                self.same(frame[name], [p.get(name) for p in points], kind, name)

    def test_shares_of_privatised_labels(self):
        frame, shares = loaded("labels").shares(), self.body["labels"]["shares"]
        self.same(frame["share"], shares["projected"])
        self.same(frame["sd"], shares["standard_error"])
        self.assertEqual(list(frame["class"]), ["no", "yes"])

    def test_predictions(self):
        import pandas as pd

        records = "hospitals/private.csv"
        want = said("release", "predict", "classify.json", "--data", records, "--id", "patient")
        frame = loaded("classify").predictions(records, id="patient")
        self.assertEqual(frame[["probability_no", "probability_yes"]].values.tolist(), want["values"])
        self.assertEqual(list(frame["predicted"]), want["labels"])
        self.assertEqual(list(frame["patient"]), want["kept"]["patient"])
        given = pd.read_csv(records, na_values="?")
        again = loaded("classify").predictions(given, keep=True)
        self.assertEqual(again[["probability_no", "probability_yes"]].values.tolist(), want["values"])
        self.assertEqual(list(again.columns[: len(given.columns)]), list(given.columns))
        own = loaded("classify").predict_proba(given)
        self.assertLess(abs(own - frame[["probability_no", "probability_yes"]].to_numpy()).max(), 1e-9)


class TableOne(Exact):
    kinds = ("describe", "sites", "hidden", "counted")
    ends = ("value", "low", "high", "noise_low", "noise_high")

    def one(self, frame, table):
        """Compares a table one with its document."""
        rows = {(r.variable, r.level, r.statistic, r.group): r for r in frame.itertuples()}
        self.assertEqual(len(rows), len(frame))
        count = 0

        def row(estimate, *key, n=None):
            nonlocal count
            count += 1
            self.same([getattr(rows[key], e) for e in self.ends], [(estimate or {}).get(e) for e in self.ends], key)
            self.same([rows[key].count], [n], key)

        # A frame's tuple has a method count beside the column of that name.
        rows = {k: mock.Mock(count=c, **{e: getattr(r, e) for e in self.ends}) for (k, r), c in zip(rows.items(), frame["count"])}
        if table.get("inside"):
            row(table["inside"]["share"], "", "matching", "share", "all", n=table["inside"]["noisy"])
        groups = table.get("groups") or []
        for g in groups:
            row(g["share"], table["by"], g["level"], "share", "all", n=g["shown"])
        for c in table.get("columns") or []:
            for name, s in zip([g["level"] for g in groups] or ["all"], c["groups"]):
                if "levels" in c:
                    for level, share, n in zip(c["levels"], s["shares"], s["counts"]):
                        row(share, c["column"], level, "share", name, n=n)
                    continue
                of = "geometric " if c.get("log") else ""
                row(s.get("mean"), c["column"], "", of + "mean", name)
                row(s.get("sd"), c["column"], "", of + "sd", name)
                for k, quantile in enumerate(("lower quartile", "median", "upper quartile")):
                    row((s.get("quantiles") or [None] * 3)[k], c["column"], "", quantile, name)
                if len(s["shares"]) == len(c["edges"]):
                    row(s["shares"][-1], c["column"], "missing", "share", name, n=s["counts"][-1])
        self.assertEqual(count, len(frame))

    def test_estimates(self):
        for name in self.kinds:
            self.one(loaded(name).table_one(), self.body[name])
        self.assertTrue(loaded("hidden").table_one()["value"].isna().any())

    def test_sites(self):
        r = loaded("sites")
        for s in self.body["sites"]["sites"]:
            self.one(r.table_one(site=s["party"]), s["table"])
            self.assertIn("days", str(r.table_one(site=s["party"], text=True).index.tolist()))
        frame = r.sites()
        self.same(frame["records"], [s["table"]["records"] for s in self.body["sites"]["sites"]])
        self.same(frame["matching"], [s["table"]["inside"]["noisy"] for s in self.body["sites"]["sites"]])
        with self.assertRaisesRegex(caucus.NotHeld, "no table of site nobody: there are those of party-00001"):
            r.table_one(site="nobody")
        with self.assertRaisesRegex(caucus.NotHeld, "shows no table of each site"):
            loaded("describe").sites()

    def test_text(self):
        table = self.shown["describe"]["tables"][0]
        frame = loaded("describe").table_one(text=True)
        self.assertEqual(list(frame.columns), table["head"][1:])
        self.assertEqual(frame.reset_index().values.tolist(), table["rows"])
        for site in ("nobody", None):
            with self.assertRaisesRegex(caucus.NotHeld, "there is no table of the records"):
                loaded("sites" if site else "counted").table_one(site=site, text=True)

    def test_changes(self):
        frame, body = loaded("regress").changes(), said("release", "show", "regress.json")["result"]
        self.assertEqual(list(frame["column"]), [c["column"] for c in body["coefficients"]])
        for name in ("value", "sd", "noise_sd", "low", "high"):
            self.same(frame[name], [c["change"][name] for c in body["coefficients"]], name)
        self.same(frame["spread"], [c["spread"] for c in body["coefficients"]])
        self.assertEqual(frame.attrs["factor_of"], "1 + days")
        for name in ("", "_low", "_high"):
            self.same(frame["factor" + name], [math.exp(c["change"][name[1:] or "value"] * c["spread"]) for c in body["coefficients"]], name)
        body.pop("factor_of")
        self.assertTrue(_frames.changes(body)["factor"].isna().all())

    def test_curves(self):
        r, body = loaded("survival"), said("release", "show", "survival.json")["result"]
        points = [(g["level"], p) for g in body["groups"] for p in g["points"]]
        frame = r.curves()
        self.assertEqual(list(frame["group"]), [g for g, _ in points])
        self.same(frame["time"], [p["time"] for _, p in points])
        for name in ("value", "sd", "noise_sd", "low", "high"):
            self.same(frame[name], [p["survival"][name] for _, p in points], name)
        self.same(r.groups()["records"], [g["records"] for g in body["groups"]])
        self.same(r.groups()["mean"], [g["mean"]["value"] for g in body["groups"]])
        self.same(r.compared()["hazard_ratio"], [c["hazard_ratio"]["value"] for c in body["compared"]])
        self.same(r.compared()["difference_low"], [c["difference"]["low"] for c in body["compared"]])
        body["groups"][0].update({"median": {"unknown": "not reached"}, "median_low": 8.5})
        told = _frames.survival_groups(body).iloc[0]
        self.same(told[["median", "median_low", "median_high", "unknown"]], [None, 8.5, math.inf, "not reached"])

    def test_histograms(self):
        for name in self.kinds:
            frame = loaded(name).histograms()
            for c in self.body[name].get("columns") or []:
                for k, s in enumerate(c["groups"]):
                    if "edges" not in c:
                        continue
                    group = self.body[name]["groups"][k]["level"] if self.body[name].get("by") else "all"
                    mine = frame[(frame["variable"] == c["column"]) & (frame["group"] == group)]
                    bins = len(c["edges"]) - 1
                    self.same(mine["from"], c["edges"][:-1])
                    self.same(mine["to"], c["edges"][1:])
                    self.same(mine["noisy"], s["noisy"][:bins])
                    self.same(mine["count"], s["counts"][:bins])
                    self.same(mine["share"], [(e or {}).get("value") for e in s["shares"][:bins]])
                    self.same(mine["noise_high"], [(e or {}).get("noise_high") for e in s["shares"][:bins]])


class Evaluation(Exact):
    kinds = ("evaluate",)

    def subgroups(self):
        for c in self.body["evaluate"]["classes"]:
            yield c, "", "everybody", c["overall"]
            for g in c["groupings"]:
                for level in g["levels"]:
                    yield c, g["column"], level["level"], level

    def number(self, row, n, *where):
        if n.get("unknown"):
            self.assertEqual(row["unknown"], n["unknown"], where)
            self.same([row[e] for e in ("value", "sd", "low", "high")], [None] * 4, where)
            return
        low, high = -math.inf if n.get("no_low") else n["low"], math.inf if n.get("no_high") else n["high"]
        self.same([row[e] for e in ("value", "sd", "noise_sd", "low", "high")], [n["value"], n["sd"], n["noise_sd"], low, high], where)

    def test_measures(self):
        rows = iter(loaded("evaluate").measures().to_dict("records"))
        for c, by, level, s in self.subgroups():
            for m in _frames.MEASURES:
                row = next(rows)
                self.assertEqual((row["class"], row["by"], row["level"], row["measure"]), (c["class"], by, level, m))
                self.number(row, s[m], by, level, m)
        self.assertIsNone(next(rows, None))

    def test_open_ends_are_infinite(self):
        self.assertEqual(_frames._number({"value": 2, "sd": 1, "noise_sd": 1, "low": 0, "high": 3, "no_low": True}), [2, 1, 1, -math.inf, 3])
        self.assertEqual(_frames._number({"value": 2, "sd": 1, "noise_sd": 1, "low": 1, "high": 0, "no_high": True})[-1], math.inf)

    def test_roc(self):
        frame, curves = loaded("evaluate").roc(), self.shown["evaluate"]["roc"]
        self.assertEqual(len(frame), sum(len(c["points"]) for c in curves))
        for c in curves:
            mine = frame[(frame["by"] + " " + frame["level"]).str.strip() == c["of"]]
            self.assertEqual(mine[["false_positive_rate", "true_positive_rate"]].values.tolist(), c["points"])
            judged = self.body["evaluate"]["classes"][0]
            edges = [1 / (1 + math.exp(-e)) if judged["probability"] else e for e in reversed(judged["edges"])]
            self.same(mine["threshold"], [math.inf, *edges, -math.inf])
        # A threshold of the plan that is an edge is a point of the curve.
        everybody = frame[frame["by"] == ""]
        at = self.body["evaluate"]["classes"][0]["overall"]["thresholds"][1]
        point = everybody[(everybody["threshold"] - at["at"]).abs() < 1e-12].iloc[0]
        self.assertAlmostEqual(point["true_positive_rate"], at["sensitivity"]["value"], delta=1e-9)
        self.assertAlmostEqual(1 - point["false_positive_rate"], at["specificity"]["value"], delta=1e-9)

    def test_calibration(self):
        rows = iter(loaded("evaluate").calibration().to_dict("records"))
        for c, by, level, s in self.subgroups():
            for b in s["bins"]:
                row = next(rows)
                self.same([row["score"], row["positives"], row["negatives"]], [b["mean"], b["positives"], b["negatives"]])
                self.number({**row, "value": row["observed"]}, b["observed"], by, level)
        self.assertIsNone(next(rows, None))

    def test_thresholds(self):
        rows = iter(loaded("evaluate").thresholds().to_dict("records"))
        for c, by, level, s in self.subgroups():
            for t in s["thresholds"]:
                for m in ("sensitivity", "specificity", "net_benefit"):
                    row = next(rows)
                    self.assertEqual((row["measure"], row["at"], row["level"]), (m, t["at"], level))
                    self.number(row, t[m], by, level, m)
        self.assertIsNone(next(rows, None))


class Shares(Exact):
    kinds = ("ratio",)

    def test_of_a_file_and_of_a_frame(self):
        import pandas as pd

        files = [pd.read_csv("hospitals/" + name, na_values="?") for name in ("pool.csv", "private.csv")]
        ward = pd.concat(files)
        ward.to_csv("ward.csv", index=False)
        for data, no_interval in (("ward.csv", False), (ward, False), (ward.assign(age=100, days=60), True)):
            if not isinstance(data, str):
                data.to_csv("same.csv", index=False)
            want = said("release", "predict", "ratio.json", "--data", data if isinstance(data, str) else "same.csv")
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                frame = loaded("ratio").shares(data)
            for name in ("class", "share", "low", "high", "sd", "training"):
                self.same(frame[name], [c.get(name) for c in want["classes"]], name)
            self.assertEqual(frame.attrs["drift"], want["drift"])
            self.assertEqual([str(w.message) for w in told], ["%s: %s" % (w["reason"], w["advice"]) for w in want["warnings"]])
            self.assertEqual("no_interval" in want, no_interval)

    def test_of_the_sets(self):
        frame, body = loaded("ratio").shares(), self.body["ratio"]
        together = frame[frame["set"] == "all"]
        self.same(together["share"], body["training_shares"])
        for i, s in enumerate(body["sets"]):
            mine = frame[frame["set"] == i + 1]
            self.same(mine["share"], s["shares"])
            self.same(mine["sd"], s.get("sd") or [None, None])
            self.same(mine["records"], [s["records"]] * 2)


class Weights(Exact):
    kinds = ("reweigh",)

    def test_beside_the_pool(self):
        import pandas as pd

        r, weight = loaded("reweigh"), self.body["reweigh"]["weight"]
        self.same(r.weights()["caucus_weight"], weight)
        written = pd.read_csv("hospitals/weighted.csv", na_values="?")
        for pool in ("hospitals/pool.csv", pd.read_csv("hospitals/pool.csv", na_values="?")):
            beside = r.weights(pool)
            self.same(beside["caucus_weight"], weight)
            pd.testing.assert_frame_equal(beside, written)
        with self.assertRaisesRegex(caucus.CommandFailed, "give the pool of that study"):
            r.weights("hospitals/private.csv")
        turned = pd.read_csv("hospitals/pool.csv", na_values="?")[::-1]
        with self.assertRaisesRegex(caucus.CommandFailed, "its rows in the same order"):
            r.weights(turned)

    def test_means(self):
        frame, body = loaded("reweigh").means(), self.body["reweigh"]
        self.assertEqual(list(frame["feature"]), body["features"])
        self.same(frame["released"], body["means"])
        self.same(frame["tilt"], body["tilt"])
        for r in body["residuals"]:
            mine = frame[frame["feature"] == r["feature"]].iloc[0]
            self.same([mine[n] for n in ("released", "weighted_pool", "pool", "noise_sd")], [r[n] for n in ("released", "weighted", "pool", "noise_sd")])

    def test_queries(self):
        asked = ["age >= 65", "sex == female"]
        frame = loaded("reweigh").query(asked, "hospitals/pool.csv")
        for where, row in zip(asked, frame.to_dict("records")):
            want = said("release", "query", "reweigh.json", "--pool", "hospitals/pool.csv", "--where", where)
            for name in ("where", "estimate", "unweighted", "rows", "matching_rows", "effective_rows"):
                self.assertEqual(row[name], want[name], name)
            self.same([row[n] for n in ("low", "high", "noise_sd", "shift_sd", "r_squared")], [want["answer"].get(n) for n in ("low", "high", "noise_sd", "shift_sd", "r_squared")])
            self.assertEqual(row["no_interval"], want.get("no_interval", ""))


class Studies(Exact):
    def test_simulations_are_the_documents(self):
        for kind in ("describe", "labels"):
            words = {**STUDIES[kind]}
            arguments = [str(w) for n in ("parties", "epsilon") if n in words for w in ("--" + n, words[n])]
            arguments += [w for n in ("generate", "by") if n in words for w in ("--set", "%s=%s" % (n, words[n]))]
            want = said("simulate", kind, *arguments)
            del want["seconds"]
            self.assertEqual({k: v for k, v in SIMULATED[kind].items() if k != "seconds"}, want)

    def test_frames_of_simulations(self):
        s = SIMULATED["classify"]
        frame = s.frame().set_index(["measure", "of"])["value"]
        self.assertEqual(frame["accuracy"].to_dict(), s["accuracy"])
        self.assertEqual(frame["brier"].to_dict(), s["brier"])
        frame = SIMULATED["ratio"].frame().set_index(["measure", "of"])["value"]
        self.assertEqual(frame["l1"].to_dict(), SIMULATED["ratio"]["l1"])
        frame = SIMULATED["reweigh"].frame().set_index("measure")["value"]
        for name in ("truth", "estimate", "rmse"):
            self.assertEqual(frame[name], SIMULATED["reweigh"][name])
        frame = SIMULATED["describe"].frame()
        self.same(frame["value"].dropna(), loaded("describe").table_one()["value"].dropna())
        self.same(frame["true"].dropna(), _frames.table_one(SIMULATED["describe"]["true"])["value"].dropna())
        s = SIMULATED["evaluate"]
        numbers = [n for g in s["classes"][0]["subgroups"] for n in g["numbers"] or []]
        self.same(s.frame()["true"], [n["truth"] for n in numbers])
        self.same(s.frame()["value"], [None if n["first"].get("unknown") else n["first"]["value"] for n in numbers])
        self.same(s.totals()["epsilon"], [t["epsilon"] for t in s["totals"]])

    def test_a_dict_names_files_as_the_caller_does(self):
        import pandas as pd

        study = {"kind": "describe", "schema": "hospitals/schema.yaml", "parties": 3, "epsilon": 2, "describe": {"bins": 4}}
        files = caucus.simulate({**study, "simulate": {"train": "hospitals/private.csv"}})
        frames = caucus.simulate(study, train=pd.read_csv("hospitals/private.csv"), seed=None)
        Path("study.yaml").write_text("kind: describe\nschema: hospitals/schema.yaml\nparties: 3\nepsilon: 2\ndescribe: {bins: 4}\n", encoding="utf-8")
        named = caucus.simulate("study.yaml", train="hospitals/private.csv")
        schema = {"label": {"column": "readmitted", "classes": ["no", "yes"]}, "features": [{"column": "age", "kind": "numeric", "min": 18, "max": 100}]}
        self.assertEqual(files["released"], named["released"])
        self.assertEqual(frames["released"], named["released"])
        self.assertEqual(len(caucus.simulate({**study, "schema": schema}, train="hospitals/private.csv")["released"]["columns"]), 2)

    def test_the_programs_own_words(self):
        with self.assertRaisesRegex(caucus.CommandFailed, '^--set by=ages: "ages" is neither the label nor a text') as failed:
            caucus.simulate("describe", by="ages")
        self.assertEqual(failed.exception.code, 2)
        with self.assertRaisesRegex(caucus.CommandFailed, "^read study file: study.json line 3: by: it stands below describe"):
            caucus.simulate({"kind": "describe", "by": "sex"})
        with self.assertRaisesRegex(caucus.CommandFailed, "say how many parties take part"):
            caucus.forecast()
        with self.assertRaisesRegex(ValueError, 'give simulate out="release.json"'):
            caucus.Simulation().release()
        with self.assertWarnsRegex(UserWarning, "daemons refuse it") as told:
            caucus.simulate("describe", parties=2, generate=300, delta=0.01)
        self.assertEqual(Path(told.filename), Path(__file__))

    def test_forecasts(self):
        f = caucus.forecast(parties=20, records=50, unit="party", auc=0.8, class_shares=[0.5, 0.5], sweep=["epsilon"], draws=1)
        want = said("forecast", *"--parties 20 --records 50 --unit party --auc .8 --class-shares .5,.5 --sweep epsilon --draws 1".split())
        self.assertEqual(f, want)
        frame = f.frame().set_index(["way", "measure"])
        for way in ("released", "alone", "pooled"):
            for measure in ("accuracy", "auc"):
                self.assertEqual(frame.loc[(way, measure)].to_dict(), want["forecast"][way][measure])
        curves = f.curves()
        curves = curves[(curves["way"] == "released") & (curves["measure"] == "auc")]
        self.same(curves["at"], [p["at"] for p in want["curves"][0]["points"]])
        self.same(curves["mean"], [p["released"]["auc"]["mean"] for p in want["curves"][0]["points"]])
        labels = caucus.forecast("labels", parties=10, records=100)
        self.same(labels.frame()["share_error"], [m["share_error"] for m in labels["labels"]["mechanisms"]])
        self.assertEqual(labels.needed().iloc[0, 3:].tolist(), labels["labels"]["table"][0]["needed"])
        with self.assertRaisesRegex(caucus.NotHeld, "in words: noise on each count: standard deviation"):
            caucus.forecast("describe", parties=3, records=100).frame()
        with self.assertRaisesRegex(caucus.NotHeld, "sweep="):
            labels.curves()

    def test_the_flags_are_the_programs(self):
        for verb, flags in _studies.FLAGS.items():
            text = subprocess.run([BINARY, verb, "--help"], capture_output=True, check=True, text=True).stdout.split("Global Flags")[0]
            have = {f.replace("-", "_") for f in re.findall(r"^ +(?:-., )?--([a-z-]+)", text, re.MULTILINE)}
            self.assertEqual(flags | {"set", "help"}, have, verb)


class Drawn(unittest.TestCase):
    def tearDown(self):
        from matplotlib import pyplot

        pyplot.close("all")

    def keep(self, axes):
        """Draws as a file does."""
        of = axes if hasattr(axes, "figure") else axes.flat[0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of Matplotlib: what does not fit
            of.figure.savefig(io.BytesIO(), format="png")
        return of

    def dots(self, ax):
        return [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o" and len(line.get_xdata()) == 1]

    def test_releases(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ax = self.keep(loaded("classify").plot())
            self.assertEqual(self.dots(ax), loaded("classify").coefficients()["odds_ratio"].dropna().tolist())
            self.assertIn("(simulated)", ax.get_title(loc="left"))
            self.keep(loaded("describe").plot())
            self.keep(loaded("sites").plot())
            left, right = loaded("evaluate").plot()
            self.keep(left)
            curve = next(line for line in left.lines if line.get_linewidth() > 2)
            roc = loaded("evaluate").roc()
            self.assertEqual(list(curve.get_ydata()), roc[roc["by"] == ""]["true_positive_rate"].tolist())
            ax = self.keep(loaded("ratio").plot("hospitals/private.csv"))
            self.assertEqual(self.dots(ax)[:2], loaded("ratio").shares("hospitals/private.csv")["share"].tolist())
            self.keep(loaded("ratio").plot())
            self.assertEqual(self.dots(self.keep(loaded("labels").plot())), loaded("labels").shares()["share"].tolist())
            self.keep(loaded("reweigh").plot())

    def test_simulations_and_forecasts(self):
        from matplotlib import pyplot

        for s in SIMULATED.values():
            self.keep(s.plot())
        swept = caucus.forecast(parties=20, records=50, unit="party", sweep="epsilon", draws=1)
        self.keep(swept.plot())
        swept["curves"] *= 2
        swept["curves"][1] = {**swept["curves"][0], "against": "records"}
        self.keep(swept.plot())
        given = pyplot.subplots()[1]
        self.assertIs(caucus.forecast(parties=20, records=50, unit="party", draws=1).plot(ax=given), given)

    def test_what_cannot_be_drawn_is_said(self):
        with self.assertRaisesRegex(caucus.NotHeld, "leave data out"):
            loaded("describe").plot("records.csv")
        with self.assertRaisesRegex(ValueError, "leave ax out"):
            loaded("evaluate").plot(ax=object())

    def test_what_is_not_installed_is_said(self):
        for of in [*map(loaded, STUDIES), *SIMULATED.values(), caucus.Forecast()]:
            with mock.patch.dict(sys.modules, {"matplotlib": None}), self.assertRaisesRegex(ImportError, "pip install matplotlib"):
                of.plot()
        with mock.patch.dict(sys.modules, {"pandas": None}), self.assertRaisesRegex(ImportError, "pip install pandas"):
            loaded("reweigh").means()


class Notebook(unittest.TestCase):
    def test_every_cell_runs(self):
        """The cells in order, as Jupyter runs them: the value of a cell's last line is shown."""
        notebook = json.loads((Path(__file__).parents[1] / "example.ipynb").read_text(encoding="utf-8"))
        self.assertEqual((notebook["nbformat"], notebook["nbformat_minor"]), (4, 5))
        names = {}
        with contextlib.ExitStack() as stack:
            os.chdir(stack.enter_context(tempfile.TemporaryDirectory(dir=".")))
            stack.callback(os.chdir, "..")
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            from matplotlib import pyplot

            stack.callback(pyplot.close, "all")
            shown = 0
            for cell in notebook["cells"]:
                if cell["cell_type"] != "code":
                    continue
                self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))
                parsed = ast.parse("".join(cell["source"]), cell["id"])
                last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
                exec(compile(parsed, cell["id"], "exec"), names)
                if last is not None:
                    shown += len(eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)) > 0
            self.assertGreater(shown, 10)
            self.assertGreater(len(pyplot.get_fignums()), 5)


if __name__ == "__main__":
    unittest.main()
