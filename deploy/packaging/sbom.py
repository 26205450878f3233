"""Writes the CycloneDX SBOM of the program for a target: every crate that it links, with version, licence and checksum.

Runs in the environment of `requirements.txt`. `cargo tree` chooses the crates by the features of the build, without procedural macros,
build scripts and tests. (`cargo metadata`, which other tools read, also lists optional crates that are not built.)

Usage: sbom.py VERSION TARGET TIME_S FILE
"""

import datetime
import pathlib
import subprocess
import sys
import uuid

import tomlkit
from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.tool import Tool
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of each crate: the depth, and after it name and version, licence, and where the tree mentions it again.
FORMAT = "|{p}|{l}|"


def linked_crates(target):
    """The lines of the tree below the program: depth, name, version, licence."""
    command = ["cargo", "tree", "--locked", "--package", "hansard", "--features", "s3", "--target", target]
    command += ["--edges", "normal,no-proc-macro", "--prefix", "depth", "--format", FORMAT]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for line in filter(None, printed.splitlines()):
        depth, crate, licence, _ = line.split("|")
        name, version = crate.split(" ")[:2]
        yield int(depth), name, version.removeprefix("v"), licence


def checksums():
    """The SHA-256 of each crate that comes from a registry."""
    lock = tomlkit.parse((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    return {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}


def component(name, version, licence, checksum):
    if not licence:
        sys.exit(f"{name} {version} names no licence: look at its source and its `license-file`")
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=str(checksum))] if checksum else []
    purl = PackageURL("cargo", None, name, version)
    # The old form of alternatives.
    licence = LicenseFactory().make_with_expression(licence.replace("/", " OR "))
    kind = ComponentType.LIBRARY
    return Component(type=kind, name=name, version=version, bom_ref=str(purl), purl=purl, licenses=[licence], hashes=hashes)


def bill_of_materials(version, target, time_s):
    known, components, path = checksums(), {}, []
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"hansard {version} {target} {time_s}"))
    for depth, name, crate_version, licence in linked_crates(target):
        key = (name, crate_version)
        if key not in components:
            components[key] = component(name, crate_version, licence, known.get(key))
        del path[depth:]
        if path:
            bom.register_dependency(path[-1], [components[key]])
        path.append(components[key])
    program = components.pop(("hansard", version))
    program.type = ComponentType.APPLICATION
    bom.metadata.component = program
    bom.metadata.timestamp = datetime.datetime.fromtimestamp(time_s, datetime.timezone.utc)
    bom.metadata.tools.tools = [Tool(name="deploy/release", version=version)]
    bom.components.update(components.values())
    return bom


def main(version, target, time_s, file):
    text = JsonV1Dot6(bill_of_materials(version, target, int(time_s))).output_as_string(indent=1)
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error:
        sys.exit(f"the SBOM does not match the schema of CycloneDX: {error}")
    pathlib.Path(file).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
