"""The program `hansard` for a target: built or given, and packed with its documents, completions and manual pages.

The same program and the same commit give the same bytes.
"""

import gzip
import os
import pathlib
import platform
import shutil
import tarfile
import tempfile

from programs import Failed, commit_time, run, run_visibly
from versions import ROOT

# Each target with its linker on machines of another target.
TARGETS = {"x86_64-unknown-linux-gnu": "x86_64-linux-gnu-gcc", "aarch64-unknown-linux-gnu": "aarch64-linux-gnu-gcc"}
DOCUMENTS = ("LICENSE", "README.md", "CHANGELOG.md")
COMPLETIONS = {"bash": "hansard.bash", "zsh": "_hansard", "fish": "hansard.fish"}
# The highest levels of gzip take several times as long for 1 % less.
GZIP_LEVEL = 6


def machine_target():
    return f"{platform.machine()}-unknown-linux-gnu"


def targets():
    """The target of the machine comes first: its program prints completions and manual pages for all."""
    return sorted(TARGETS, key=lambda target: target != machine_target())


def missing(target, given):
    """Why this machine cannot make the program for a target; `None` if it can. `given` is a program that replaces a build."""
    if given:
        return None if target == machine_target() else f"the given program is for {machine_target()}"
    libraries = run("rustc", "--print", "target-libdir", "--target", target).strip()
    if not pathlib.Path(libraries).exists():
        return f"rustc has no such target: run rustup target add {target}"
    if target != machine_target() and shutil.which(TARGETS[target]) is None:
        return f"there is no linker {TARGETS[target]}"
    return None


def build(target):
    """Builds the program as the image does, with archives in S3."""
    names = dict(os.environ)
    if target != machine_target():
        shout = target.upper().replace("-", "_")
        names |= {f"CARGO_TARGET_{shout}_LINKER": TARGETS[target], f"CC_{target.replace('-', '_')}": TARGETS[target]}
    arguments = ["--locked", "--profile", "dist", "--package", "hansard", "--features", "s3", "--target", target]
    run_visibly("cargo", "build", *arguments, cwd=ROOT, env=names)
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return folder / target / "dist/hansard"


def check_version(program, version):
    printed = run(program, "--version").strip()
    if printed != f"hansard {version}":
        raise Failed(f"{program} is '{printed}', not 'hansard {version}': build it again")


def documents(folder, runnable):
    """Writes completions and manual pages, which a program that runs on this machine prints."""
    (folder / "completions").mkdir()
    for shell, name in COMPLETIONS.items():
        (folder / "completions" / name).write_text(run(runnable, "completions", shell), encoding="utf-8")
    run(runnable, "man", folder / "man/man1")
    for name in DOCUMENTS:
        shutil.copyfile(ROOT / name, folder / name)


def pack(folder, archive):
    """Packs a folder: names sorted, one owner, one time."""
    time_s = commit_time()

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = "root"
        entry.mtime = time_s
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
        return entry

    with open(archive, "wb") as file, gzip.GzipFile("", "wb", GZIP_LEVEL, file, time_s) as stream:
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as packed:
            # `add` sorts the names of a folder.
            packed.add(folder, folder.name, filter=plain)


def package(out, version, target, program, runnable):
    """Packs a program; `runnable` is the program for this machine."""
    name = f"hansard-{version}-{target}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary, name)
        folder.mkdir()
        shutil.copyfile(program, folder / "hansard")
        (folder / "hansard").chmod(0o755)
        documents(folder, runnable)
        archive = out / f"{name}.tar.gz"
        pack(folder, archive)
    return archive
