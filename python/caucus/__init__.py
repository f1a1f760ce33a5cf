"""Caucus studies in Python: load a release, get what it holds as data frames, draw it and predict
with it, have it verified; simulate and forecast a study.

Frames need pandas, plots Matplotlib, and all numbers of frames the caucus program, on the path or
named by CAUCUS_BINARY. A classifier predicts with NumPy alone.
"""

from ._binary import CommandFailed, NoBinary, run, verify
from ._classifier import Classifier
from ._frames import NotHeld
from ._model import NeedsExport
from ._release import Release, load
from ._studies import Forecast, Simulation, forecast, simulate

__all__ = [
    "Classifier", "CommandFailed", "Forecast", "NeedsExport", "NoBinary", "NotHeld", "Release", "Simulation",
    "forecast", "load", "run", "simulate", "verify",
]
