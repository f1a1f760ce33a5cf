"""Run the caucus program, so that its checks and computations are not written again in Python."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Dict, List, Optional, Tuple, Type, Union

Path = Union[str, "os.PathLike[str]"]
_HERE = os.path.dirname(__file__)
_log = logging.getLogger("caucus")


class NoBinary(RuntimeError):
    """The caucus program was not found."""


class CommandFailed(RuntimeError):
    """The caucus program failed or refused; the message is the program's.

    code: the program's exit status, 1 for a failure and 2 for wrong arguments.
    """

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def binary() -> str:
    """The path of the program: environment variable CAUCUS_BINARY, or caucus on the search path."""
    found = os.environ.get("CAUCUS_BINARY") or shutil.which("caucus")
    if not found:
        raise NoBinary(
            "this needs the caucus program: build it with `go build -o caucus ./cmd/caucus` "
            "and put it on the path, or name it in the environment variable CAUCUS_BINARY"
        )
    return found


def run(*arguments: object) -> Dict[str, Any]:
    """Run caucus with --json, and return its document.

    The program's warnings become UserWarnings, and its notes go to the log "caucus".
    Raises CommandFailed if the program fails or refuses.
    """
    document, said = _run(*arguments, "--json")
    for line in said.splitlines():
        if line.startswith("warning: "):
            warn(line[len("warning: "):])
        else:
            _log.info(line)
    return document


def warn(message: str) -> None:
    """Give a UserWarning at the line that called the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == _HERE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def quietly(*arguments: object) -> Dict[str, Any]:
    """Like run, for a document that already contains the warnings."""
    return _run(*arguments, "--json")[0]


def export(release: Path) -> Dict[str, Any]:
    """The document of `caucus release export --to json`."""
    return _run("release", "export", "--to", "json", release)[0]


def _run(*arguments: object) -> Tuple[Dict[str, Any], str]:
    command = [binary(), *[str(a) for a in arguments]]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip()
        error = re.search(r"^caucus: (.*)\Z", said, re.MULTILINE | re.DOTALL)  # earlier lines are notes
        raise CommandFailed(error.group(1) if error else said, done.returncode)
    document: Dict[str, Any] = json.loads(done.stdout)
    return document, done.stderr


def verify(release: Path, pool: Optional[Path] = None, **flags: Any) -> Dict[str, Any]:
    """Recompute what a release claims. Raises CommandFailed if a claim does not hold. flags are
    those of `caucus release verify`, such as key="5f3a…", the coordinator's public key."""
    return run("release", "verify", release, *flags_of({"pool": pool, **flags}))


def flags_of(values: Mapping[str, Any]) -> List[str]:
    """Values as flags. None and False give no flag, and a list is written with commas."""
    given: List[str] = []
    for name, value in values.items():
        name = "--" + name.replace("_", "-")
        if value is True:
            given.append(name)
        elif value is not None and value is not False:
            given += [name, text_of(value)]
    return given


def text_of(value: Any) -> str:
    """A value as text for a command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)) and not any(isinstance(v, (Mapping, list, tuple)) or "," in str(v) for v in value):
        return ",".join(str(v) for v in value)
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, default=plain)
    return str(value)


def plain(value: Any) -> Any:
    """Convert a value that json cannot write, such as a NumPy number or a path."""
    return value.item() if hasattr(value, "item") else value.tolist() if hasattr(value, "tolist") else str(value)


class Files:
    """A temporary folder (in a with statement) for values that the program reads from files."""

    def __enter__(self) -> Files:
        self._folder = tempfile.TemporaryDirectory(prefix="caucus-")
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self._folder.cleanup()

    def path(self, name: str, value: Any) -> str:
        """The path of a file that holds value. A data frame is written as CSV and a dict as JSON,
        which is also YAML. A path is returned as it is. None gives a path for the program to write."""
        path = os.path.join(self._folder.name, name)
        if value is None:
            return path
        if hasattr(value, "to_csv"):
            value.to_csv(path + ".csv", index=False)
            return path + ".csv"
        if isinstance(value, Mapping):
            with open(path + ".json", "w", encoding="utf-8") as file:
                json.dump(value, file, indent=1, default=plain)
            return path + ".json"
        return str(os.fspath(value))

    def run(self, *arguments: object) -> Dict[str, Any]:
        """Like run. Errors name the files without their folder."""
        try:
            return run(*arguments)
        except CommandFailed as error:
            said, code = str(error).replace(self._folder.name + os.sep, ""), error.code
        raise CommandFailed(said, code)
