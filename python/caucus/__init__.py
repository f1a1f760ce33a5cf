"""Use the releases of Caucus studies: load one as a classifier, have it verified, and
forecast a study. Everything but verify, plan and some maps needs NumPy alone."""

from ._binary import CommandFailed, NoBinary, plan, run, verify
from ._classifier import Classifier, load
from ._model import NeedsExport

__all__ = ["Classifier", "CommandFailed", "NeedsExport", "NoBinary", "load", "plan", "run", "verify"]
