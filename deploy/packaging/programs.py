"""Runs the programs of a release, and installs those that are pinned for it.

Usage: programs.py. It installs them ahead of a release.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import venv

from versions import ROOT

FOLDER = pathlib.Path(__file__).resolve().parent
TOOLS = ROOT / "target/release-tools"
REQUIREMENTS = FOLDER / "requirements.txt"


class Failed(Exception):
    """A step cannot continue. The text names the cause and what to do."""


def run(*command, **options):
    """The standard output of a program, which must succeed."""
    return ended(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options).stdout


def run_visibly(*command, **options):
    """Runs a program that takes minutes and shows its progress."""
    ended(command, **options)


def ended(command, **options):
    words = [str(word) for word in command]
    try:
        process = subprocess.run(words, **options)
    except FileNotFoundError:
        raise Failed(f"{words[0]} is not installed") from None
    if process.returncode != 0:
        raise Failed(f"{' '.join(words)} failed:\n{process.stdout or ''}{process.stderr or ''}")
    return process


def commit_time():
    """When the commit of the working tree was made, in seconds: the time of everything that a release contains."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        return int(given or run("git", "log", "-1", "--format=%ct", cwd=ROOT))
    except (Failed, ValueError):
        raise Failed("the time of the commit is unknown: set SOURCE_DATE_EPOCH to seconds since 1970") from None


def has_changes():
    """Whether the working tree differs from its commit. Sources without git have none to differ from."""
    return (ROOT / ".git").exists() and bool(run("git", "status", "--porcelain", cwd=ROOT))


def tools():
    """The Python of an environment with the pinned packages. It is installed again when the pins change."""
    python, stamp = TOOLS / "bin/python", TOOLS / "installed"
    pins = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()
    if not stamp.exists() or stamp.read_text() != pins:
        venv.create(TOOLS, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run(*pip, "--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", REQUIREMENTS)
        stamp.write_text(pins)
    return python


if __name__ == "__main__":
    tools()
