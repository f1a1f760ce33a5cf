"""Run the caucus program, which does what must not be written twice."""

import json
import os
import shutil
import subprocess


class NoBinary(RuntimeError):
    """The caucus program is not here."""


class CommandFailed(RuntimeError):
    """The caucus program said no; the message is its own."""


def binary():
    """The path of the program: CAUCUS_BINARY, or caucus on the path."""
    found = os.environ.get("CAUCUS_BINARY") or shutil.which("caucus")
    if not found:
        raise NoBinary(
            "this needs the caucus program: build it with `go build -o caucus ./cmd/caucus` "
            "and put it on the path, or name it in the environment variable CAUCUS_BINARY"
        )
    return found


def run(*arguments):
    """Run caucus with --json, and return its document."""
    return _run(*arguments, "--json")


def export(release):
    """The document of `caucus release export --to json`."""
    return _run("release", "export", "--to", "json", release)


def _run(*arguments):
    command = [binary(), *[str(a) for a in arguments]]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        raise CommandFailed(done.stderr.strip() or done.stdout.strip())
    return json.loads(done.stdout)


def verify(release, pool=None, **flags):
    """Recompute what a release claims; CommandFailed where it does not hold. Further
    flags are those of `caucus release verify`, such as key="5f3a…", the coordinator's public key."""
    return run("release", "verify", release, *_flags({"pool": pool, **flags}))


def forecast(study=None, **flags):
    """What a study would be worth, from public inputs, as `caucus forecast` says it: study
    is a study file, or None; flags are the command's, such as parties=5, records=5400,
    class_shares=[.73, .27], features=12. A list is written with commas."""
    return run("forecast", *([] if study is None else [study]), *_flags(flags))


def _flags(values):
    given = []
    for name, value in values.items():
        name = "--" + name.replace("_", "-")
        if value is True:
            given.append(name)
        elif isinstance(value, (list, tuple)):
            given += [name, ",".join(str(v) for v in value)]
        elif value is not None and value is not False:
            given += [name, str(value)]
    return given
