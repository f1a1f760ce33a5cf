"""Run the caucus program, which does what must not be written twice."""

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
    """The caucus program is not here."""


class CommandFailed(RuntimeError):
    """The caucus program said no; the message is its own.

    code: its exit status, 1 where it failed and 2 where it was asked wrongly.
    """

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def binary() -> str:
    """The path of the program: CAUCUS_BINARY, or caucus on the path."""
    found = os.environ.get("CAUCUS_BINARY") or shutil.which("caucus")
    if not found:
        raise NoBinary(
            "this needs the caucus program: build it with `go build -o caucus ./cmd/caucus` "
            "and put it on the path, or name it in the environment variable CAUCUS_BINARY"
        )
    return found


def run(*arguments: object) -> Dict[str, Any]:
    """Run caucus with --json, and return its document.

    What it warns of is a UserWarning; what it notes goes to the log "caucus".
    CommandFailed where it says no.
    """
    document, said = _run(*arguments, "--json")
    for line in said.splitlines():
        if line.startswith("warning: "):
            warn(line[len("warning: "):])
        else:
            _log.info(line)
    return document


def warn(message: str) -> None:
    """A UserWarning at the line of whoever called the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == _HERE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def quietly(*arguments: object) -> Dict[str, Any]:
    """Like run, of a document that has the warnings itself."""
    return _run(*arguments, "--json")[0]


def export(release: Path) -> Dict[str, Any]:
    """The document of `caucus release export --to json`."""
    return _run("release", "export", "--to", "json", release)[0]


def _run(*arguments: object) -> Tuple[Dict[str, Any], str]:
    command = [binary(), *[str(a) for a in arguments]]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        said = done.stderr.strip() or done.stdout.strip()
        error = re.search(r"^caucus: (.*)\Z", said, re.MULTILINE | re.DOTALL)  # what stands before are notes
        raise CommandFailed(error.group(1) if error else said, done.returncode)
    document: Dict[str, Any] = json.loads(done.stdout)
    return document, done.stderr


def verify(release: Path, pool: Optional[Path] = None, **flags: Any) -> Dict[str, Any]:
    """Recompute what a release claims; CommandFailed where it does not hold. Further
    flags are those of `caucus release verify`, such as key="5f3a…", the coordinator's public key."""
    return run("release", "verify", release, *flags_of({"pool": pool, **flags}))


def flags_of(values: Mapping[str, Any]) -> List[str]:
    """Values as flags: None and False are left out, a list is written with commas."""
    given: List[str] = []
    for name, value in values.items():
        name = "--" + name.replace("_", "-")
        if value is True:
            given.append(name)
        elif value is not None and value is not False:
            given += [name, text_of(value)]
    return given


def text_of(value: Any) -> str:
    """A value as it is typed on a command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)) and not any(isinstance(v, (Mapping, list, tuple)) or "," in str(v) for v in value):
        return ",".join(str(v) for v in value)
    if isinstance(value, (Mapping, list, tuple)):
        return json.dumps(value, default=plain)
    return str(value)


def plain(value: Any) -> Any:
    """What JSON has no form for: NumPy's numbers, paths."""
    return value.item() if hasattr(value, "item") else value.tolist() if hasattr(value, "tolist") else str(value)


class Files:
    """A folder, while it is entered, of files for what Python hands to the program."""

    def __enter__(self) -> Files:
        self._folder = tempfile.TemporaryDirectory(prefix="caucus-")
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self._folder.cleanup()

    def path(self, name: str, value: Any) -> str:
        """The path of a file: of what is no path, one that is written here: a data frame as CSV,
        a dict as JSON, which is YAML too. None is for a file that the program writes here."""
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
        """Like run; an error names these files without the folder."""
        try:
            return run(*arguments)
        except CommandFailed as error:
            said, code = str(error).replace(self._folder.name + os.sep, ""), error.code
        raise CommandFailed(said, code)
