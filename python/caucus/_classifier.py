"""A release's classifier with the interface of a scikit-learn estimator."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Collection, Dict, List, Tuple

import numpy as np

from . import _binary, _model
from ._release import SIMULATED, Release, damaged, read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    class BaseEstimator: ...

    class ClassifierMixin: ...

else:
    try:  # with scikit-learn it is one of its own; without, the same methods are there
        from sklearn.base import BaseEstimator, ClassifierMixin
    except ImportError:

        class ClassifierMixin:
            _estimator_type = "classifier"

            def score(self, X, y):
                """The share of rows whose class was predicted."""
                return float(np.mean(self.predict(X) == np.asarray(y)))

        class BaseEstimator:
            def get_params(self, deep=True):
                return {"source": self.source}

            def set_params(self, **params):
                for name, value in params.items():
                    if name != "source":
                        raise ValueError("there is no parameter %r" % name)
                    self.source = value
                return self


class Classifier(ClassifierMixin, BaseEstimator, Release):
    """The classifier of a release, with the frames of Release beside it.

    source: path of a release, or of what `caucus release export --to json` wrote.

    Attributes, there from the start: classes_ (K texts, in the order of the columns of
    predict_proba), feature_names_in_ (columns that X must have), n_features_in_,
    output_ ("probability", "vote_share" or "score": what is told of a class),
    warnings_ (what the release says of itself, and whether it was simulated), about_ (its
    study, plan and guarantee; about_["simulated"] is true where its noise protected nobody).
    """

    def __init__(self, source: Any = None) -> None:
        self.source = source
        if source is not None:
            self._read()

    def _read(self) -> None:
        self._model = _steps(read(os.fspath(self.source)), self.source)
        self.classes_ = np.array(self._model["classes"], dtype=object)
        self.feature_names_in_ = np.array([c["name"] for c in self._model["columns"]], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self.output_ = self._model["output"]
        self.warnings_ = list(self._model["warnings"])
        self.about_ = dict(self._model["about"])
        self.about_["simulated"] = bool(self.about_.get("simulated"))
        if self.about_["simulated"]:
            self.warnings_.append(SIMULATED)

    def _exported(self) -> bool:
        return "caucus_model" in self.fit()._model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def fit(self, X: Any = None, y: Any = None) -> Classifier:
        """Return the classifier unchanged, because the study has fitted it."""
        if not hasattr(self, "_model"):
            self._read()
        return self

    def _columns(self, X: Any) -> Tuple[Dict[str, List[Any]], int]:
        """X as lists by name, and the number of its rows."""
        names: List[str] = list(self.feature_names_in_)
        have: Collection[str]
        column: Callable[[str], List[Any]]
        if hasattr(X, "columns"):  # a data frame of any library
            have, column = list(X.columns), lambda n: list(X[n])
        elif isinstance(X, dict):
            have, column = list(X), lambda n: list(X[n])
        elif isinstance(X, (list, tuple)) and all(isinstance(row, dict) for row in X):
            some = {n for row in X for n in row} if X else names  # one row may lack a cell, not all of them
            have, column = some, lambda n: [row.get(n) for row in X]
        else:
            X = np.asarray(X, dtype=object)
            if X.ndim != 2 or X.shape[1] != len(names):
                raise ValueError("give a data frame, a dict of columns, a list of dicts, or rows of %d cells: %s" % (len(names), ", ".join(names)))
            have, column = names, lambda n: list(X[:, names.index(n)])
        lacking = [n for n in names if n not in have]
        if lacking:
            raise ValueError("the records have no column %s" % ", ".join(map(repr, lacking)))
        twice = [n for n in names if list(have).count(n) > 1] if len(set(have)) < len(have) else []
        if twice:
            raise ValueError("the records have two columns %s: rename one" % ", ".join(map(repr, twice)))
        try:
            if isinstance(X, dict) and any(isinstance(X[n], (str, bytes)) for n in names):
                raise TypeError("a text is one cell")
            columns = {n: column(n) for n in names}
        except TypeError:  # cells where columns are wanted
            raise ValueError("give each column as a list of cells, {%r: [...]}, or each record as a dict in a list, [{%r: ...}]" % (names[0], names[0])) from None
        return columns, len(columns[names[0]])

    def decision_function(self, X: Any) -> NDArray[Any]:
        """The scores, N×K or, with two classes, N scores of the second class."""
        s = self._scores(X)
        return s[:, 1] if s.shape[1] == 2 else s

    def _scores(self, X: Any) -> NDArray[Any]:
        self.fit()
        columns, n = self._columns(X)
        return _model.scores(self._model, _model.encode(self._model, columns, n))

    @property
    def predict_proba(self) -> Callable[[Any], NDArray[Any]]:
        """predict_proba(X): a number for each row and class, N×K; each row adds up to 1.
        output_ says what the numbers mean. A release of scores has no predict_proba."""
        if self.fit().output_ == "score":
            raise AttributeError("this release tells scores, which are no probabilities: use decision_function")
        return self._softmax

    def _softmax(self, X: Any) -> NDArray[Any]:
        s = self._scores(X)
        e = np.exp(s - s.max(axis=1, keepdims=True))
        out: NDArray[Any] = e / e.sum(axis=1, keepdims=True)
        return out

    def predict(self, X: Any) -> NDArray[Any]:
        """The predicted class of each row, N texts."""
        out: NDArray[Any] = self.classes_[np.argmax(self._scores(X), axis=1)]
        return out


def _steps(document: Dict[str, Any], source: Any) -> Dict[str, Any]:
    """The steps of a document, after checking that they compute a score for each class."""
    try:
        model = _read_steps(document, source)
        _model.check(model)
    except (_model.Explained, _binary.NoBinary, _binary.CommandFailed):
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as reason:
        raise damaged(source, "%s: %s" % (type(reason).__name__, reason)) from None
    return model


def _read_steps(document: Dict[str, Any], source: Any) -> Dict[str, Any]:
    if "caucus_model" in document:
        return _model.of_export(document)
    if "manifest" not in document or "plan" not in document:
        raise _model.Explained("%s is neither a release nor what `caucus release export --to json` wrote" % source)
    try:
        return _model.of_release(document)
    except _model.NeedsExport as reason:
        try:
            exported = _binary.export(source)
        except _binary.NoBinary:
            raise _model.NeedsExport(
                "%s: %s; write it with `caucus release export %s --to json --out model.json` and load that" % (source, reason, source)
            ) from None
        return _model.of_export(exported)
