"""Checks the SBOM of a program: by the schema of CycloneDX, by Cargo.lock, and by the program itself.

Usage: sbom.py SBOM PROGRAM. Runs in the environment of deploy/packaging/requirements.txt.
"""

import json
import pathlib
import re
import sys

import tomlkit
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
# Panics name their source: the folder of a crate in cargo's registry.
CRATE = re.compile(rb"/registry/src/[^/]{1,100}/([A-Za-z0-9_-]{1,100}?)-(\d+\.\d+\.\d+[A-Za-z0-9.+-]{0,100})/")
# A program of this workspace names more than half of its crates.
NAMED_MIN = 100


def locked():
    """The checksum of each crate of Cargo.lock; `None` for those of the workspace."""
    lock = tomlkit.parse((REPOSITORY / "Cargo.lock").read_text(encoding="utf-8"))
    return {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}


def check_components(components, known):
    """Each component is a crate of Cargo.lock, with its checksum and a licence."""
    for name, version in components:
        component = components[name, version]
        assert (name, version) in known, f"{name} {version} is not in Cargo.lock"
        hashes = [one["content"] for one in component.get("hashes", [])]
        assert hashes == [known[name, version]] * (known[name, version] is not None), component
        assert component["licenses"][0]["expression"], component
        assert component["purl"] == f"pkg:cargo/{name}@{version.replace('+', '%2B')}", component


def check_program(components, program):
    """Each crate that the program names is a component."""
    found = {(name.decode(), version.decode()) for name, version in CRATE.findall(program.read_bytes())}
    assert len(found) >= NAMED_MIN, f"{program} names {len(found)} crates"
    missing = found - components.keys()
    assert not missing, f"the SBOM lacks {sorted(missing)}"
    return len(found)


def check_graph(document):
    """Each component is reached from the program."""
    edges = {node["ref"]: node.get("dependsOn", []) for node in document["dependencies"]}
    waiting, seen = [document["metadata"]["component"]["bom-ref"]], set()
    while waiting:
        reference = waiting.pop()
        if reference not in seen:
            seen.add(reference)
            waiting.extend(edges[reference])
    components = {component["bom-ref"] for component in document["components"]}
    assert components < seen, sorted(components - seen)


def main(sbom, program):
    text = pathlib.Path(sbom).read_text(encoding="utf-8")
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert error is None, error
    document = json.loads(text)
    components = {(component["name"], component["version"]): component for component in document["components"]}
    check_components(components, locked())
    check_graph(document)
    named = check_program(components, pathlib.Path(program))
    print(f"SBOM: {len(components)} crates, {named} of them named by the program")


if __name__ == "__main__":
    main(*sys.argv[1:])
