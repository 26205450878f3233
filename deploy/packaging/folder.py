"""The folder of the files of a release, which is replaced as a whole, and its checksums."""

import contextlib
import hashlib
import pathlib
import shutil
import tempfile

from programs import Failed

CHECKSUMS = "SHA256SUMS"


def write_checksums(folder):
    """Writes the file that `sha256sum --check` reads."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(folder.iterdir())]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def check_replaceable(folder):
    """An existing folder is replaced only if it has nothing but the files of an earlier release."""
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    sums = folder / CHECKSUMS
    known = {line.split("  ", 1)[1] for line in sums.read_text(encoding="utf-8").splitlines()} if sums.exists() else set()
    others = sorted(present - known - {CHECKSUMS})
    if others:
        raise Failed(f"{folder} contains {others[0]}, which is of no release: choose another --out")


@contextlib.contextmanager
def replaced(folder):
    """Gives a new folder, which takes the place of the old one at the end. After a failure, the old one is untouched."""
    check_replaceable(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = pathlib.Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        yield new
        write_checksums(new)
        new.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
