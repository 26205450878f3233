"""Checks `deploy/release` itself: its version check on copies with one wrong place, its arguments, and what it replaces.

Usage: command.py HANSARD.
"""

import contextlib
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
COMMAND = REPOSITORY / "deploy/release"
sys.path.append(str(REPOSITORY / "deploy/packaging"))
sys.dont_write_bytecode = True

import folder  # noqa: E402
import versions  # noqa: E402
from programs import Failed  # noqa: E402

OTHER = "98.76.54"
FILES = sorted({place.path for place in versions.PLACES} | set(versions.CHANGELOGS))


@contextlib.contextmanager
def copied():
    """Lets the check read a copy of the files with versions."""
    original = versions.ROOT
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for path in FILES:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(original / path, root / path)
        versions.ROOT = root
        try:
            yield root
        finally:
            versions.ROOT = original


def problems_with(path, text):
    """What the check says if a file has another text."""
    with copied() as root:
        assert (root / path).read_text(encoding="utf-8") != text, path
        (root / path).write_text(text, encoding="utf-8")
        return list(versions.problems())


def check_places():
    """Each place with another version is named, and no other; so is a place that lost its version."""
    for place in versions.PLACES[1:]:
        text = place.read()
        begin, end = place.matches()[0].span(1)
        for version in (OTHER, ""):
            found = problems_with(place.path, text[:begin] + version + text[end:])
            assert found and all(problem.startswith(place.path + ":") for problem in found), found
    text = versions.SOURCE.read().replace(f'version = "{versions.current()}"', 'version = "1.0.0-rc.1"', 1)
    assert "is not three numbers" in problems_with("Cargo.toml", text)[0]


def check_changelogs():
    """The newest section with a version is that of the version, and not empty."""
    title = f"## {versions.current()}"
    for path in versions.CHANGELOGS:
        text = (REPOSITORY / path).read_text(encoding="utf-8")
        (wrong,) = problems_with(path, text.replace(title, f"## {OTHER}"))
        assert wrong.startswith(f"{path}: the newest version is not"), wrong
        (empty,) = problems_with(path, text.partition(title)[0] + title + "\n")
        assert empty.startswith(path) and empty.endswith("write what changes"), empty
        # What is not released yet has no version.
        assert problems_with(path, text.replace(title, f"## Unreleased\n\n- One.\n\n{title}", 1)) == []


def check_change():
    """A new version is written everywhere, and a second time changes nothing."""
    with copied() as root:
        for path in versions.CHANGELOGS:
            (root / path).write_text("# Changelog\n\n## Unreleased\n\n- One.\n", encoding="utf-8")
        assert sorted(versions.change(OTHER)) == FILES
        assert list(versions.problems()) == [] and versions.current() == OTHER
        assert versions.change(OTHER) == []
        lock = (root / "Cargo.lock").read_text(encoding="utf-8").split("[[package]]")[1:]
        ours = [entry for entry in lock if "\nsource = " not in entry]
        assert len(ours) > 20 and all(f'version = "{OTHER}"' in entry for entry in ours)
        assert sum(OTHER in entry for entry in lock) == len(ours)


def replacement_fails(out, failure):
    """Whether the replacement of a folder ends with a failure of the command."""
    try:
        with folder.replaced(out) as new:
            (new / "b.txt").write_text("three")
            if failure:
                raise failure
    except Failed:
        return True
    return False


def check_folder():
    """A folder is replaced if it is new or of a release. A foreign file and a failure leave it as it is."""
    with tempfile.TemporaryDirectory() as root:
        out = pathlib.Path(root, "a/files")
        for text in ("one", "two"):
            with folder.replaced(out) as new:
                (new / "b.txt").write_text(text)
        assert (out / "SHA256SUMS").read_text() == f"{hashlib.sha256(b'two').hexdigest()}  b.txt\n"
        assert replacement_fails(out, Failed("a step"))
        (out / "mine.txt").write_text("")
        assert replacement_fails(out, None)
        assert (out / "b.txt").read_text() == "two"
        assert [path.name for path in out.parent.iterdir()] == ["files"]


def ends_with(code, words, *arguments, **options):
    ended = subprocess.run([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert ended.returncode == code and words in ended.stdout, (arguments, ended.returncode, ended.stdout)


def check_arguments(hansard):
    # From another folder: paths of the repository do not depend on it.
    ends_with(0, "all packages have the version", "--check", cwd="/")
    ends_with(0, "Exit codes:", "--help")
    ends_with(2, "is not three numbers", "--set-version", "1.2")
    ends_with(2, "is not three numbers", "--set-version", "1.2.3-rc.1")
    ends_with(2, "is not a file", "--binary", "/nowhere/hansard")
    ends_with(2, "not allowed with", "--check", "--binary", hansard)


def check_wrong_program():
    """A program of another version is rejected before anything is made."""
    with tempfile.TemporaryDirectory() as root:
        program = pathlib.Path(root, "hansard")
        program.write_text(f"#!/bin/sh\necho hansard {OTHER}\n")
        program.chmod(0o755)
        out = pathlib.Path(root, "out")
        ends_with(1, "build it again", "--binary", program, "--out", out)
        assert not out.exists()


def main(hansard):
    check_places()
    check_changelogs()
    check_change()
    check_folder()
    check_arguments(hansard)
    check_wrong_program()
    print(f"deploy/release: {len(versions.PLACES)} places of the version, folders and arguments")


if __name__ == "__main__":
    main(*sys.argv[1:])
