"""The packages that clients install: for Python (a source distribution, and the wheel built from it) and for npm."""

import os
import pathlib
import shutil
import tarfile
import tempfile

from programs import commit_time, run, tools
from versions import ROOT

PYTHON = ROOT / "clients/python"
TYPESCRIPT = ROOT / "clients/typescript"


def python_packages(out, version):
    """Builds the wheel outside of the repository, so that the source distribution contains all that it needs."""
    python, names = tools(), {**os.environ, "SOURCE_DATE_EPOCH": str(commit_time())}
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "hatchling", "build", "-t", "sdist", "-d", out, cwd=PYTHON, env=names)
        source = out / f"hansard-{version}.tar.gz"
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        unpacked = pathlib.Path(folder, f"hansard-{version}")
        run(python, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=unpacked, env=names)
    return [source, out / f"hansard-{version}-py3-none-any.whl"]


def is_installed(folder):
    """Whether the packages of the lock are there; npm writes the file last."""
    written, lock = folder / "node_modules/.package-lock.json", folder / "package-lock.json"
    return written.exists() and written.stat().st_mtime >= lock.stat().st_mtime


def has_npm():
    return shutil.which("npm") is not None


def npm_package(out, version):
    if not is_installed(TYPESCRIPT):
        run("npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", cwd=TYPESCRIPT)
    run("npm", "run", "--silent", "build", cwd=TYPESCRIPT)
    run("npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", out, cwd=TYPESCRIPT)
    return [out / f"hansard-client-{version}.tgz"]
