"""Use the releases of Caucus studies: load one as a classifier, have it verified, and
forecast a study. Everything but verify, forecast and some maps needs NumPy alone."""

from ._binary import CommandFailed, NoBinary, forecast, run, verify
from ._classifier import Classifier, load
from ._model import NeedsExport

__all__ = ["Classifier", "CommandFailed", "NeedsExport", "NoBinary", "forecast", "load", "run", "verify"]
