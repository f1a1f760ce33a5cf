"""Rehearse and forecast studies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Union

from . import _binary, _frames, _plots

if TYPE_CHECKING:
    import pandas as pd

    from ._release import Release

# The flags of both verbs; every other setting is a term of the study, for --set.
_COMMON = "parties records unit epsilon delta noise mechanism learner schema pool seed decimal delimiter encoding mapping sheet out"
FLAGS = {
    "simulate": frozenset((_COMMON + " where dataset train test repeats data_dir pool_mapping report").split()),
    "forecast": frozenset((_COMMON + " class_shares auc draws sweep features classes").split()),
}
# What names a file to read, in a study or beside it. A data frame or a dict may stand for it.
FILES = frozenset("schema pool pool_release train test model mapping pool_mapping".split())

Study = Union[str, "os.PathLike[str]", Mapping[str, Any], None]


class Simulation(Dict[str, Any]):
    """The document of `caucus simulate`, a dict, and data frames of it.

    release_file: the file that out named, or None.
    """

    release_file: Optional[str] = None

    def frame(self) -> pd.DataFrame:
        """What came out beside the truth. Of describe a row for each estimate and of evaluate for
        each number, with 95 % intervals; of other kinds a row for each measure."""
        return _frames.simulated(self)

    def totals(self) -> pd.DataFrame:
        """The guarantee at each unit; epsilon is NaN where nothing is guaranteed."""
        return _frames.totals(self.get("totals") or [])

    def release(self) -> Release:
        """The release of the first repeat; ValueError unless simulate was given out="FILE.json"."""
        from ._release import load

        if self.release_file is None:
            raise ValueError('this simulation kept no release: give simulate out="release.json"')
        return load(self.release_file, warn=False)

    def plot(self, ax: Any = None) -> Any:
        """Draw frame(): the measures released, without noise and as they would be otherwise.
        Gives Matplotlib's axes."""
        return _plots.simulated(self, ax)


class Forecast(Dict[str, Any]):
    """The document of `caucus forecast`, a dict, and data frames of it."""

    def frame(self) -> pd.DataFrame:
        """Of classify: accuracy and AUC of the release, of one party alone and of all records
        pooled: mean over draws, its standard error, and the range of 90 % of draws. Of labels: what
        each mechanism keeps. NotHeld of other kinds, with what the forecast says in words."""
        return _frames.forecast(self)

    def curves(self) -> pd.DataFrame:
        """The forecast at each value that sweep asked for; NotHeld without sweep."""
        return _frames.sweep(self)

    def needed(self) -> pd.DataFrame:
        """Of labels: how many labels it takes, by mechanism and epsilon."""
        return _frames.needed(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw curves(), or frame() without sweep. Gives Matplotlib's axes."""
        return _plots.forecast(self, ax)


def simulate(study: Study = None, **settings: Any) -> Simulation:
    """Rehearse a study among virtual parties, as `caucus simulate` does.

    study: path of a STUDY.yaml, a dict of the same keys, the name of a kind, or None (classify).
    settings: the command's flags (parties=12, out="release.json") and terms of the study
    (generate=6000, by="sex"); set={"ratio.gamma": 2} is for names with dots. A data frame may be
    given as train, test or pool, a dict as schema.

    CommandFailed with the program's own message where it says no; its warnings are UserWarnings.
    """
    out = Simulation(_asked("simulate", study, settings))
    if settings.get("out") is not None:
        out.release_file = os.path.abspath(settings["out"])
    return out


def forecast(study: Study = None, **settings: Any) -> Forecast:
    """What a study would be worth, from public inputs alone, as `caucus forecast` says it.

    study and settings are as in simulate; flags are the command's, such as parties=5, records=5400,
    class_shares=[.73, .27], features=12, sweep="epsilon".
    """
    return Forecast(_asked("forecast", study, settings))


def _asked(verb: str, study: Study, settings: Dict[str, Any]) -> Dict[str, Any]:
    with _binary.Files() as files:
        arguments: List[str] = [verb]
        if isinstance(study, Mapping):
            arguments.append(files.path("study", _named(study, files)))
        elif study is not None:
            arguments.append(os.fspath(study))
        terms: Dict[str, Any] = {**settings.pop("set", {})}
        flags: Dict[str, Any] = {}
        for name, value in settings.items():
            value = files.path(name, value) if name in FILES and value is not None else value
            (flags if name in FLAGS[verb] else terms)[name] = value
        arguments += _binary.flags_of(flags)
        for name, value in terms.items():
            if value is not None:
                arguments += ["--set", "%s=%s" % (name, _binary.text_of(value))]
        return files.run(*arguments)


def _named(study: Mapping[str, Any], files: _binary.Files) -> Dict[str, Any]:
    """A study whose files are named from everywhere, as its own file lies in another folder."""
    out: Dict[str, Any] = {}
    for key, value in study.items():
        if key in FILES:
            out[key] = os.path.abspath(files.path(key, value))
        else:
            out[key] = _named(value, files) if isinstance(value, Mapping) else value
    return out
