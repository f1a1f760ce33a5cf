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


def plan(sites, records, classes, **flags):
    """Forecast a study from public numbers, as `caucus plan` does: classes are the
    shares of the classes; further flags are that command's, such as features=12."""
    shares = ",".join(repr(float(c)) for c in classes)
    return run("plan", *_flags({"sites": sites, "records": records, "classes": shares, **flags}))


def _flags(values):
    given = []
    for name, value in values.items():
        name = "--" + name.replace("_", "-")
        if value is True:
            given.append(name)
        elif value is not None and value is not False:
            given += [name, str(value)]
    return given
