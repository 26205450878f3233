"""Checks the files of a release: checksums, the SBOM, the program from its archive, and the first use of the README by gRPC.
The packages for Python and npm are installed by their own checks.

Usage: check.py HANSARD FOLDER. The files in FOLDER are those of `deploy/release --binary HANSARD --out FOLDER`.
"""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))
# What the archive has beside the program; the shells would not find other names.
CONTENTS = ["CHANGELOG.md", "LICENSE", "README.md", "completions", "hansard", "man"]
COMPLETIONS = ["_hansard", "hansard.bash", "hansard.fish"]
TOOLS = REPOSITORY / "target/release-tools/bin/python"

from hansard_dev import data_folder, gateway  # noqa: E402
from readme import example, expect  # noqa: E402


def check_checksums(files):
    """Each file is listed once with its checksum, and nothing else is there."""
    lines = [line.split("  ") for line in (files / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    present = {path.name for path in files.iterdir()} - {"SHA256SUMS"}
    assert sorted(name for _, name in lines) == sorted(present), lines
    for expected, name in lines:
        assert hashlib.sha256((files / name).read_bytes()).hexdigest() == expected, name


def unpacked(files, folder):
    """The program of this machine, extracted from its archive."""
    (archive,) = files.glob("*-linux-gnu.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (inside,) = pathlib.Path(folder).iterdir()
    assert inside.name + ".tar.gz" == archive.name, inside
    assert sorted(path.name for path in inside.iterdir()) == CONTENTS, inside
    assert sorted(path.name for path in (inside / "completions").iterdir()) == COMPLETIONS, inside
    assert ".SH SYNOPSIS" in (inside / "man/man1/hansard-dev.1").read_text(encoding="utf-8")
    return inside / "hansard", files / f"{inside.name}.cdx.json"


def check_first_use(program):
    """The program serves the gRPC example of the README."""
    # The program of the example is beside the Python that runs this check.
    grpcurl = pathlib.Path(sys.executable).parent
    assert shutil.which("grpcurl", path=grpcurl), "install tests/clients/release/requirements.txt"
    with data_folder() as data, gateway(str(program), data) as (url, _, names):
        names = {**names, "HANSARD_HTTP_URL": url, "PATH": f"{grpcurl}:{names['PATH']}"}
        script = ["bash", "-euo", "pipefail", "-c", example("sh", names)]
        ended = subprocess.run(script, env=names, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout
    expect(ended.stdout)


def main(hansard, folder):
    files = pathlib.Path(folder)
    check_checksums(files)
    with tempfile.TemporaryDirectory() as empty:
        program, sbom = unpacked(files, empty)
        assert program.read_bytes() == pathlib.Path(hansard).read_bytes(), "the archive has another program"
        subprocess.run([TOOLS, FOLDER / "sbom.py", sbom, program], check=True, timeout=60)
        check_first_use(program)
    print("the files of the release: checksums, SBOM, program and its first use by gRPC")


if __name__ == "__main__":
    main(*sys.argv[1:])
