"""Tests of the package: python -m unittest discover -s python/tests. That its numbers are
those of caucus release predict, .ci/peers holds on releases of every kind of map."""

import json
import math
import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1]))

import caucus  # noqa: E402

RELEASE = {
    "manifest": {"plan_hash": "00", "parties": 3},
    "plan": {
        "name": "small", "kind": "classify", "mechanism": "tally", "unit": "party", "epsilon": 1, "delta": 1e-6,
        "schema": {
            "label": {"column": "sick", "classes": ["no", "yes"]},
            "features": [
                {"column": "age", "kind": "numeric", "min": 0, "max": 100},
                {"columns": ["stage1..stage2"], "kind": "categorical", "levels": ["1", "2"]},
            ],
            "missing": "?",
        },
        "map": {"kind": "identity", "inputs": 7, "scale": 2.0},
    },
    "result": {
        "body": {"classifier": {"classes": ["no", "yes"], "weights": [[4.0]] + [[0.0]] * 5 + [[1.0], [-2.0]], "output": "vote_share"}},
        "warnings": ["one of 4 parties did not contribute"],
    },
}


class Loads(unittest.TestCase):
    def load(self, document):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "release.json"
            path.write_text(json.dumps(document), encoding="utf-8")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return caucus.load(path)

    def release(self, output="vote_share"):
        document = json.loads(json.dumps(RELEASE))
        document["result"]["body"]["classifier"]["output"] = output
        return {"release": document}

    def test_numbers_are_those_of_the_formula(self):
        model = self.load(self.release())
        self.assertEqual(list(model.feature_names_in_), ["age", "stage1", "stage2"])
        got = model.predict_proba({"age": [50, None, 1000], "stage1": ["1", 2.0, ""], "stage2": ["x", "2", "1"]})
        for row, age, other in zip(got, (0.5, 0.5, 1.0), (1.0, 0.0, 0.0)):
            score = (4 * age / 2 + other / 2 - 2) * (1 - 1e-12) / math.sqrt(2)
            self.assertAlmostEqual(row[1], 1 / (1 + math.exp(-score)), delta=1e-12)
            self.assertAlmostEqual(sum(row), 1, delta=1e-12)
        self.assertEqual(list(model.predict({"age": [0, 100], "stage1": ["", ""], "stage2": ["x", "x"]})), ["no", "yes"])

    def test_scores_are_no_probabilities(self):
        model = self.load(self.release("score"))
        self.assertFalse(hasattr(model, "predict_proba"))
        self.assertEqual(model.decision_function([{"age": 100, "stage1": "1", "stage2": "1"}]).shape, (1,))

    def test_what_it_is_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "release.json"
            path.write_text(json.dumps(self.release()), encoding="utf-8")
            with self.assertWarnsRegex(UserWarning, "vote share and no probability"):
                model = caucus.load(path)
        self.assertEqual(model.output_, "vote_share")
        self.assertEqual(model.warnings_, ["one of 4 parties did not contribute"])

    def test_mistakes_say_what_to_do(self):
        with self.assertRaisesRegex(ValueError, "neither a release"):
            self.load({"something": 1})
        with self.assertRaisesRegex(ValueError, "no column 'stage1'"):
            self.load(self.release()).predict({"age": [1], "stage2": ["1"]})
        counts = self.release()
        counts["release"]["result"]["body"] = {"columns": []}
        with self.assertRaisesRegex(ValueError, "holds no classifier"):
            self.load(counts)
        counts["release"]["plan"]["kind"] = "describe"
        self.assertFalse(hasattr(self.load(counts), "predict"))

    def test_a_misspelt_column_is_no_missing_cell(self):
        model = self.load(self.release())
        with self.assertRaisesRegex(ValueError, "no column 'age'"):
            model.predict_proba([{"Age": 70, "stage1": "1", "stage2": "1"}, {"Age": 71, "stage1": "1", "stage2": "2"}])
        some = model.predict_proba([{"age": 70, "stage1": "1", "stage2": "1"}, {"stage1": "1", "stage2": "2"}])
        none = model.predict_proba({"age": [70, None], "stage1": ["1", "1"], "stage2": ["1", "2"]})
        self.assertEqual(some.tolist(), none.tolist())
        self.assertEqual(model.predict_proba([]).shape, (0, 2))

    def test_cells_are_no_columns(self):
        model = self.load(self.release())
        for one in {"age": 50, "stage1": 1, "stage2": 2}, {"age": "50", "stage1": "1", "stage2": "2"}:
            with self.assertRaisesRegex(ValueError, "each column as a list of cells, {'age': "):
                model.predict_proba(one)

    def test_a_cell_that_says_neither_yes_nor_no_is_missing(self):
        class NA:  # as pandas'
            def __ne__(self, other):
                return self

            def __bool__(self):
                raise TypeError("boolean value of NA is ambiguous")

        model = self.load(self.release())
        cells = {"age": [NA(), None], "stage1": [NA(), ""], "stage2": ["1", "1"]}
        first, second = model.predict_proba(cells).tolist()
        self.assertEqual(first, second)

    def test_two_columns_of_one_name_are_refused(self):
        class Frame:  # a data frame gives both, as a frame of names
            columns = ["age", "age", "stage1", "stage2"]

            def __getitem__(self, name):
                return ["age", "age"] if name == "age" else ["1", "2"]

        with self.assertRaisesRegex(ValueError, "two columns 'age'"):
            self.load(self.release()).predict(Frame())

    def test_more_than_any_schema_has_is_refused_at_once(self):
        for names in (["x0..x999999999999"], ["x0..x99999"] * 50):
            document = self.release()
            document["release"]["plan"]["schema"]["features"].append({"columns": names, "kind": "numeric", "min": 0, "max": 1})
            with self.subTest(names[0]), self.assertRaisesRegex(ValueError, "more than 100000 columns"):
                self.load(document)

    def test_a_damaged_file_says_so(self):
        def broken(change):
            document = self.release()
            change(document["release"])
            return document

        def weights(rows):
            return lambda r: r["result"]["body"]["classifier"].update(weights=rows)

        def exported(change, classes=("no", "yes")):
            columns = [{"name": "age", "kind": "numeric", "at": 0, "min": 0, "max": 90}]
            change(columns)
            return {
                "caucus_model": 1, "classes": list(classes), "output": "score", "columns": columns, "encoded": 2,
                "steps": [{"op": "linear", "matrix": [[1, -1], [0, 1]], "offset": [0, 0]}], "about": {"study": "s"},
            }

        self.assertEqual(self.load(exported(lambda c: None)).predict({"age": [3]}).tolist(), ["no"])
        for name, document in {
            "a number": 5,
            "no columns": broken(lambda r: r["plan"]["schema"].update(features=[])),
            "no classes": broken(lambda r: r["plan"]["schema"].update(label={})),
            "too few weights": broken(weights([[4.0]] * 3)),
            "too many": broken(weights([[4.0]] * 30)),
            "ragged": broken(weights([[4.0], [1.0, 2.0]])),
            "three classes": broken(weights([[4.0, 1.0, 2.0]] * 8)),
            "no number": broken(weights([[float("nan")]] * 8)),
            "text": broken(weights("abc")),
            "no result": broken(lambda r: r.pop("result")),
            "weights of other classes": broken(lambda r: r["plan"]["schema"]["label"].update(classes=["no", "yes", "perhaps"])),
            "a number for warnings": broken(lambda r: r["result"].update(warnings=5)),
            "no output": broken(lambda r: r["result"]["body"]["classifier"].update(output="sure")),
            "an export without steps": {"caucus_model": 1, "classes": ["no", "yes"]},
            "an export with min = max": exported(lambda c: c[0].update(min=5, max=5)),
            "an export with a column before the first": exported(lambda c: c[0].update(at=-1)),
            "an export with a flag behind the last": exported(lambda c: c[0].update(at=1, flag=True)),
            "an export with a level before the first": exported(lambda c: c.append({"name": "sex", "kind": "categorical", "levels": ["f"], "at": -2, "other": 0})),
            "an export with an unknown kind": exported(lambda c: c[0].update(kind="date")),
            "two equal classes": exported(lambda c: None, ["yes", "yes"]),
            "a release with min = max": broken(lambda r: r["plan"]["schema"]["features"][0].update(min=7, max=7)),
        }.items():
            with self.subTest(name), self.assertRaisesRegex(ValueError, "release.json is damaged.*caucus study result"):
                self.load(document)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cut.json"
            for content in (b'{"release": {"mani', b"", b"\xff\xfe\x00"):
                path.write_bytes(content)
                with self.assertRaisesRegex(ValueError, "cut.json is damaged.*caucus study result"):
                    caucus.load(path)

    def test_a_simulated_release_says_so(self):
        self.assertIs(self.load(self.release()).about_["simulated"], False)
        simulated = self.release("probability")
        simulated["release"]["plan"]["simulated"] = True
        model = self.load(simulated)
        self.assertIs(model.about_["simulated"], True)
        self.assertIn("this release was simulated: its noise protected nobody", model.warnings_)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "release.json"
            path.write_text(json.dumps(simulated), encoding="utf-8")
            with self.assertWarnsRegex(UserWarning, "simulated: its noise protected nobody"):
                caucus.load(path)

    def test_other_maps_and_commands_need_the_program(self):
        fourier = self.release()
        fourier["release"]["plan"]["map"]["kind"] = "fourier"
        with mock.patch.dict(os.environ, {"PATH": "", "CAUCUS_BINARY": ""}):
            with self.assertRaisesRegex(caucus.NeedsExport, "caucus release export .* --to json"):
                self.load(fourier)
            with self.assertRaisesRegex(caucus.NoBinary, "go build"):
                caucus.verify("release.json", pool="pool.csv")

    def test_what_the_program_is_told(self):
        with mock.patch("caucus._binary.run", return_value={}) as run:
            self.assertEqual(caucus.forecast(), {})
            run.reset_mock()
            caucus.forecast(parties=5, records=5400, class_shares=[0.73, 0.27], auc=0.8, pool=None)
            run.assert_called_once_with("forecast", "--parties", "5", "--records", "5400", "--class-shares", "0.73,0.27", "--auc", "0.8")
            run.reset_mock()
            caucus.forecast("readmission.yaml", class_shares=[1 / 3] * 3)  # shares are passed on as they are
            run.assert_called_once_with("forecast", "readmission.yaml", "--class-shares", ",".join(["0.3333333333333333"] * 3))
            run.reset_mock()
            caucus.verify("release.json", pool="pool.csv", key="5f")
            run.assert_called_once_with("release", "verify", "release.json", "--pool", "pool.csv", "--key", "5f")


if __name__ == "__main__":
    unittest.main()
