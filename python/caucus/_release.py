"""A release of any kind, and data frames of what it holds."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Union

from . import _binary, _frames, _plots
from ._frames import NotHeld

if TYPE_CHECKING:
    import pandas as pd

    Data = Union[str, "os.PathLike[str]", pd.DataFrame]

SIMULATED = "this release was simulated: its noise protected nobody"

# The frames of each kind, in addition to costs, totals and tables.
FRAMES = {
    "classify": ["coefficients", "path", "predictions"],
    "labels": ["shares", "path", "predictions"],
    "describe": ["table_one", "histograms", "sites"],
    "evaluate": ["measures", "roc", "calibration", "thresholds"],
    "ratio": ["shares"],
    "regress": ["changes"],
    "reweigh": ["weights", "means", "query", "path"],
    "survival": ["curves", "groups", "compared"],
}


class Release:
    """A release of a study.

    source: path of the file, as `caucus study result --out` writes it.

    All numbers are those of `caucus release show --json`, which the caucus program writes when the
    first of them is asked for. A method whose frame this kind does not have raises NotHeld.
    """

    source: Any

    def __init__(self, source: Any) -> None:
        self.source = os.fspath(source)

    def __repr__(self) -> str:
        said = self.document
        return "%s release of study %s, %d parties%s: %s" % (said["kind"], said["study"], said["parties"], ", simulated" * said["simulated"], self._has())

    @property
    def document(self) -> Dict[str, Any]:
        """The document of `caucus release show --json`."""
        found: Optional[Dict[str, Any]] = getattr(self, "_shown", None)
        if found is None:
            if self._exported():
                raise NotHeld("%s is an export of a release: load the release itself for its frames" % self.source)
            found = self._shown = _binary.quietly("release", "show", self.source)
        return found

    def _exported(self) -> bool:
        return False

    @property
    def study(self) -> str:
        """The study's name."""
        return str(self.document["study"])

    @property
    def kind(self) -> str:
        """classify, labels, describe, evaluate, ratio, regress, reweigh or survival."""
        return str(self.document["kind"])

    @property
    def answer(self) -> str:
        """The result in a sentence."""
        return str(self.document["answer"])

    @property
    def guarantee(self) -> str:
        """What the guarantee hides, and its epsilon and delta, in words."""
        return str(self.document["guarantee"])

    @property
    def parties(self) -> int:
        """How many parties contributed."""
        return int(self.document["parties"])

    @property
    def missing(self) -> List[str]:
        """The parties of the study that did not contribute."""
        return list(self.document.get("missing") or [])

    @property
    def simulated(self) -> bool:
        """True if a simulation made the release. Its noise protected nobody."""
        return bool(self.document["simulated"])

    @property
    def warnings(self) -> List[str]:
        """The release's warnings."""
        return list(self.document.get("warnings") or [])

    def _has(self) -> str:
        names = [n for n in FRAMES.get(self.kind, []) if n != "coefficients" or self.document.get("coefficients")]
        return ", ".join(n + "()" for n in [*names, "costs", "totals", "tables"])

    def _of(self, frame: str) -> Any:
        """The result's body; NotHeld where this kind has no such frame."""
        if frame not in FRAMES.get(self.kind, []):
            raise NotHeld("this %s release holds no %s; it has %s" % (self.kind, frame.replace("_", " "), self._has()))
        return self.document["result"]

    def costs(self) -> pd.DataFrame:
        """What each released output cost: mechanism, its parameters, how far one unit moves it (l1,
        l2sq over cells), epsilon, delta, and rho of zero-concentrated privacy (NaN: none)."""
        return _frames.costs(self.document["costs"] or [])

    def totals(self) -> pd.DataFrame:
        """The guarantee at each unit; epsilon is NaN where nothing is guaranteed, why says why."""
        return _frames.totals(self.document["totals"] or [])

    def tables(self) -> Dict[str, pd.DataFrame]:
        """The tables of `caucus release show`, by title, as texts for people."""
        return {t["title"]: _frames.words(t) for t in self.document.get("tables") or []}

    def coefficients(self) -> pd.DataFrame:
        """Of a classifier from released sums: the odds ratio of each difference between two records
        that are otherwise alike, with its 95 % interval; log_odds, sd, low and high are on the scale
        of the log-odds. Where untold says why, there is none. A coefficient says what goes with the
        class, not what causes it."""
        if self.kind in ("classify", "labels") and not self.document.get("coefficients"):
            raise NotHeld("coefficients: %s; this %s release has %s" % (self.document["coefficients_are"], self.kind, self._has()))
        self._of("coefficients")
        return _frames.coefficients(self.document)

    def path(self) -> pd.DataFrame:
        """The risk of each lambda that was tried, as estimated from what was released."""
        return _frames.path(self._of("path"))

    def table_one(self, site: Optional[str] = None, text: bool = False) -> pd.DataFrame:
        """Of a describe release: shares of levels, mean, sd and quartiles of numbers, in each group.

        low to high is a 95 % interval for a population of which the records are a sample,
        noise_low to noise_high for these records; NaN is unknown, and a quartile's interval that ends
        at an end of the column's range is open there. count is the count as shown, moved to one that
        records can have. The row of variable "" is the share that matches the study's condition. site: one party's, of a study that shows them. text: the
        table for people, n (%) and mean ± sd, a column for each group.
        """
        body = self._of("table_one")
        if text:
            return _frames.one_in_words(self.document.get("tables") or [], site)
        return _frames.table_one(_frames.table_of(body, site))

    def histograms(self, site: Optional[str] = None) -> pd.DataFrame:
        """Of a describe release: the count and share of each bin of a number, in each group. noisy is
        the count as released, count the nearest that records can have."""
        return _frames.histograms(_frames.table_of(self._of("histograms"), site))

    def sites(self) -> pd.DataFrame:
        """Of a describe release that shows its sites: the records of each, and those that match."""
        return _frames.sites(self._of("sites"))

    def curves(self) -> pd.DataFrame:
        """Of a survival release: the share without the event at the end of each interval, in each
        group, with a 95 % interval of noise and sampling; at_risk and events are of the interval, as
        released. A curve ends where too few records are left."""
        return _frames.curves(self._of("curves"))

    def changes(self) -> pd.DataFrame:
        """Of a regress release: the change of the outcome where a column is higher by 1, or a text has
        the level and not that of to, the others being equal, with a 95 % interval of noise and
        sampling. Of a column that the schema calls log, it is log(1 + column) that is higher by 1.
        Where the outcome is a logarithm, factor is what 1 + outcome is multiplied by where the
        column is higher by spread, else NaN. unknown says why a number is NaN. spread is the column's
        standard deviation in the pool, 1 of a level."""
        return _frames.changes(self._of("changes"))

    def groups(self) -> pd.DataFrame:
        """Of a survival release: records, events, median time and mean time up to mean_to, of each
        group. unknown says why a median is NaN, which may still have a lower end; an end that the
        band does not reach is infinite."""
        return _frames.survival_groups(self._of("groups"))

    def compared(self) -> pd.DataFrame:
        """Of a survival release: each later group beside the first, unadjusted: hazard ratio, log-rank
        p value, and the difference of shares at a time that both curves reach. unknown says why a
        hazard ratio is NaN."""
        return _frames.compared(self._of("compared"))

    def measures(self) -> pd.DataFrame:
        """Of an evaluate release: records, prevalence, auc, slope, intercept and brier, for each class,
        for everybody and each group, with 95 % intervals of noise and sampling; an end that noise
        leaves open is infinite. unknown says why a number is NaN."""
        return _frames.measures(self._of("measures"))

    def roc(self) -> pd.DataFrame:
        """Of an evaluate release: the ROC curve of everybody and each group: of the others and of the
        class, the share that scores at or above the threshold."""
        return _frames.roc(self._of("roc"), self.document.get("roc") or [])

    def calibration(self) -> pd.DataFrame:
        """Of an evaluate release: the observed share of the class in each bin of scores, with 95 %
        intervals; score is the bin's mean, positives and negatives are counts as released."""
        return _frames.calibration(self._of("calibration"))

    def thresholds(self) -> pd.DataFrame:
        """Of an evaluate release: sensitivity, specificity and net benefit at each threshold of the
        plan, with 95 % intervals."""
        return _frames.thresholds(self._of("thresholds"))

    def shares(self, data: Optional[Data] = None, **reading: Any) -> pd.DataFrame:
        """The share of each class.

        Of a labels release: in the study's records, corrected for the noise; sd is the standard error.
        Of a ratio release: in the records of data (a file, or a data frame), with 95 % intervals;
        without data, in each of the study's sets. reading: further flags of `caucus release
        predict`. What the program says beside it is in the frame's attrs, and a warning where there
        are no intervals: low and high are then 0 and 1.
        """
        body = self._of("shares")
        if data is None:
            return _frames.shares_of_sets(body, self._schema()["label"]["classes"]) if self.kind == "ratio" else _frames.shares_of_labels(body)
        if self.kind != "ratio":
            raise NotHeld("shares of other records are estimated from a ratio release, and this is one of kind %s: leave data out" % self.kind)
        said = self._asked("predict", data=data, **reading)
        for w in said["warnings"]:
            _binary.warn("%s: %s" % (w["reason"], w["advice"]))
        return _frames.shares(said)

    def predictions(self, data: Data, **reading: Any) -> pd.DataFrame:
        """The class of each record of data (a file, or a data frame) and a number for each class.

        reading: further flags of `caucus release predict`, such as id="patient", keep=True, or
        calibration="evaluation.json", the release of an evaluate study of this one.
        """
        self._of("predictions")
        return _frames.predictions(self._asked("predict", data=data, **reading), list(getattr(data, "columns", [])))

    def weights(self, pool: Optional[Data] = None, **reading: Any) -> pd.DataFrame:
        """Of a reweigh release: the weight of each row of the public pool, in its order.

        pool: a file or a data frame to set them beside, in the column caucus_weight; CommandFailed
        where it is not the study's pool. Without pool there are the weights alone. reading: further
        flags of `caucus release export --to pool`.
        """
        body = self._of("weights")
        if pool is None:
            return _frames.weights(body, None)
        with _binary.Files() as files:
            out = files.path("weighted.csv", None)
            files.run("release", "export", self.source, "--to", "pool", *_binary.flags_of({"pool": files.path("pool", pool), "out": out, **reading}))
            beside: Any = pool if hasattr(pool, "columns") else _frames.read(out, self._schema().get("missing", ""))
        return _frames.weights(body, beside)

    def means(self) -> pd.DataFrame:
        """Of a reweigh release: the mean of each feature as released, with the standard deviation of
        its noise, beside that in the weighted pool and in the pool (NaN where they were not released);
        numbers run from 0 to 1 between the schema's bounds, a level is 1 where a record has it."""
        return _frames.means(self._of("means"))

    def query(self, where: Union[str, Sequence[str]], pool: Data, **reading: Any) -> pd.DataFrame:
        """Of a reweigh release: the share of the private records for which each condition of where
        holds, estimated on the weighted pool (a file, or a data frame). no_interval says why low and
        high are NaN."""
        self._of("query")
        asked = [where] if isinstance(where, str) else list(where)
        return _frames.answers([self._asked("query", where=w, pool=pool, **reading) for w in asked])

    def plot(self, data: Optional[Data] = None, ax: Any = None) -> Any:
        """Draw what the release holds, with Matplotlib: odds ratios, a table one, ROC and calibration,
        shares of classes (of a ratio release in data), means of features, survival
        curves, or changes of an outcome.

        ax: axes to draw in, of a drawing that needs one. Gives the axes: several of describe and
        evaluate. `release.plot().figure.savefig("odds.png")` keeps one.
        """
        return _plots.release(self, data, ax)

    def _asked(self, verb: str, **flags: Any) -> Dict[str, Any]:
        with _binary.Files() as files:
            for name in ("data", "pool"):
                if name in flags:
                    flags[name] = files.path(name, flags[name])
            return files.run("release", verb, self.source, *_binary.flags_of(flags))

    def _schema(self) -> Dict[str, Any]:
        schema: Dict[str, Any] = read(self.source)["plan"]["schema"]
        return schema


def read(source: str) -> Dict[str, Any]:
    """The document of a release without its signature, or of an export; ValueError if it is damaged."""
    try:
        with open(source, encoding="utf-8") as file:
            document = json.load(file)
    except (ValueError, RecursionError) as reason:  # no JSON, or no text, or nested without end
        raise damaged(source, reason) from None
    if isinstance(document, dict) and "release" in document:
        document = document["release"]
    if not isinstance(document, dict):
        raise damaged(source, "it is no object")
    return document


def damaged(source: str, reason: object) -> ValueError:
    """The error for a file that is not a release."""
    return ValueError(
        "%s is damaged, or neither a release nor what `caucus release export --to json` wrote (%s): "
        "fetch it again with `caucus study result STUDY --out FILE`, or export it again" % (source, reason)
    )


def load(source: Any, warn: bool = True) -> Release:
    """A release, or what `caucus release export --to json` wrote of one.

    What holds a classifier is a Classifier, with scikit-learn's interface beside the frames.
    ValueError if the file is damaged. warn: say by a UserWarning what a classifier's numbers are and
    whether it was simulated.
    """
    from ._classifier import Classifier

    path = os.fspath(source)
    document = read(path)
    try:
        known = "caucus_model" in document or document["plan"]["kind"] in ("classify", "labels")
        other = not known and isinstance(document["result"]["body"], dict) and isinstance(document["manifest"], dict)
    except (KeyError, TypeError) as reason:
        if "plan" not in document or "manifest" not in document:
            raise ValueError("%s is neither a release nor what `caucus release export --to json` wrote" % path) from None
        raise damaged(path, "%s: %s" % (type(reason).__name__, reason)) from None
    if other:
        return Release(path)
    model = Classifier(path)
    if warn and model.about_["simulated"]:
        _binary.warn(SIMULATED)
    if warn and model.output_ != "probability":
        _binary.warn("what this release tells of a class is a %s and no probability: use it to rank" % model.output_.replace("_", " "))
    return model
