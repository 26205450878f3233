"""Checks how `deploy/release` builds and packs programs, with small programs in place of rustc, cargo, a linker and hansard.

Usage: archives.py.
"""

import os
import pathlib
import sys
import tarfile
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(REPOSITORY / "deploy/packaging"))
sys.dont_write_bytecode = True

import binary  # noqa: E402
from programs import commit_time  # noqa: E402

HANSARD = """\
case $1 in
  completions) echo "completions of $2" ;;
  man) mkdir -p "$2" && echo page > "$2/hansard.1" && echo page > "$2/hansard-dev.1" ;;
esac
"""
# Builds a program that says for which target, with which linker and compiler it was built.
CARGO = """\
for target; do :; done
mkdir -p "$CARGO_TARGET_DIR/$target/dist"
echo "$*; $CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER; $CC_aarch64_unknown_linux_gnu" > "$CARGO_TARGET_DIR/$target/dist/hansard"
"""
# The machine has the libraries of every target whose folder exists.
RUSTC = 'for target; do :; done; echo "$LIBRARIES/$target"\n'
OTHER = {"x86_64-unknown-linux-gnu": "aarch64-unknown-linux-gnu", "aarch64-unknown-linux-gnu": "x86_64-unknown-linux-gnu"}


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def check_archives(root):
    """Two archives of one program are equal, whenever its files were written. Entries are sorted and have one time and one owner."""
    archives = []
    for time_s in (1, 2_000_000_000):
        program = script(root / "hansard", HANSARD)
        os.utime(program, (time_s, time_s))
        (root / f"{time_s}").mkdir()
        archives.append(binary.package(root / f"{time_s}", "1.2.3", "any", program, program))
    first, second = (archive.read_bytes() for archive in archives)
    assert first == second and archives[0].name == "hansard-1.2.3-any.tar.gz", archives
    with tarfile.open(archives[0]) as packed:
        entries = packed.getmembers()
    names = [entry.name for entry in entries]
    assert names == sorted(names) and names[0] == "hansard-1.2.3-any" and len(names) == 13, names
    assert {entry.mtime for entry in entries} == {commit_time()}
    assert {(entry.uid, entry.gid, entry.uname, entry.gname) for entry in entries} == {(0, 0, "root", "root")}
    executable = [entry.name for entry in entries if entry.isfile() and entry.mode & 0o111]
    assert executable == ["hansard-1.2.3-any/hansard"], executable


def check_targets(root):
    """A target is built if its libraries and its linker are there; otherwise the reason says what is missing."""
    machine = binary.machine_target()
    other = OTHER[machine]
    assert binary.targets() == [machine, other]
    os.environ |= {"PATH": f"{root}/bin", "LIBRARIES": str(root / "libraries"), "CARGO_TARGET_DIR": str(root / "target")}
    script(root / "bin/rustc", RUSTC)
    assert "rustup target add " + machine in binary.missing(machine, None)
    for target in (machine, other):
        (root / "libraries" / target).mkdir(parents=True)
    assert binary.missing(machine, None) is None
    assert binary.missing(other, None) == f"there is no linker {binary.TARGETS[other]}"
    assert binary.missing(machine, root) is None and machine in binary.missing(other, root)
    script(root / "bin" / binary.TARGETS[other], "")
    assert binary.missing(other, None) is None


def check_builds(root):
    """A build for another target names its linker to cargo and to the crates that compile C."""
    os.environ["PATH"] = f"{root}/bin:/usr/bin:/bin"
    script(root / "bin/cargo", CARGO)
    for target in binary.targets():
        words, linker, compiler = binary.build(target).read_text().strip("\n").split(";")
        assert words == f"build --locked --profile dist --package hansard --features s3 --target {target}", words
        expected = binary.TARGETS[target] if target == "aarch64-unknown-linux-gnu" != binary.machine_target() else ""
        assert (linker.strip(), compiler.strip()) == (expected, expected), (target, linker, compiler)


def main():
    with tempfile.TemporaryDirectory() as root:
        check_archives(pathlib.Path(root))
        check_targets(pathlib.Path(root))
        check_builds(pathlib.Path(root))
    print("deploy/release: archives and targets")


if __name__ == "__main__":
    main()
