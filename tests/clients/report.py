"""What the checks show of each client. A check appends lines of JSON to the file that CLIENTS_REPORT names, and this program makes
docs/clients.md of them.

Usage: report.py (check | write) LINES. `check` fails if the page differs from what the lines make.
"""

import collections
import dataclasses
import difflib
import importlib.metadata
import json
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs/clients.md"
INTRODUCTION = """\
# Clients

These clients work with Hansard when their base URL and their key are changed. The table is generated: each feature is a test in
`tests/clients` with the unmodified client, at the version that its folder pins. The checks also assert each status and code in
the last column. The API "package `hansard`" is an adapter of the [package for Python](how-to/use-python.md).

```sh
cargo build --bin hansard && tests/clients/run write     # runs every check, and writes this page
```

"""
SUITES = """
## Tests of the adapters

These suites run the frameworks at these versions with a deployment of Hansard. The table is generated too: the counts are those of the run.

| client | version | suite | tests passed |
|---|---|---|---|
"""


@dataclasses.dataclass(frozen=True)
class Client:
    """A client at a version. Features are named alike in all checks."""

    name: str
    version: str

    def works(self, api, *features):
        for feature in features:
            self._append(api=api, feature=feature, reason=None)

    def does_not(self, api, feature, reason):
        self._append(api=api, feature=feature, reason=reason)

    def passed(self, suite, count):
        """The number of tests of a suite that passed."""
        self._append(suite=suite, passed=count)

    def _append(self, **line):
        if file := os.environ.get("CLIENTS_REPORT"):
            with open(file, "a", encoding="utf-8") as lines:
                lines.write(json.dumps({**dataclasses.asdict(self), **line}) + "\n")


def python_client(package):
    """The client of an installed Python package."""
    return Client(f"`{package}` for Python", importlib.metadata.version(package))


def javascript_client(package, folder):
    """The client of an npm package, installed in a folder."""
    manifest = json.loads((folder / "node_modules" / package / "package.json").read_text(encoding="utf-8"))
    return Client(f"`{package}` for JavaScript", manifest["version"])


def page(lines):
    """The page; the order of the lines does not matter."""
    parsed = [json.loads(line) for line in lines]
    suites = [line for line in parsed if "suite" in line]
    clients = [line for line in parsed if "suite" not in line]
    return INTRODUCTION + clients_table(clients) + (suites_table(suites) if suites else "")


def clients_table(lines):
    """A row for each client and API."""
    rows = collections.defaultdict(set)
    for line in lines:
        reason = f" ({line['reason']})" if line["reason"] else ""
        rows[line["name"], line["version"], line["api"], bool(reason)].add(line["feature"] + reason)
    table = ["| client | version | API | works | does not work |", "|---|---|---|---|---|"]
    for client in sorted({key[:3] for key in rows}):
        cells = ["; ".join(sorted(rows[*client, fails])) for fails in (False, True)]
        table.append(f"| {' | '.join([*client, *cells])} |".replace("|  |", "| |"))
    return "\n".join(table) + "\n"


def suites_table(lines):
    """A row for each suite of a client."""
    rows = sorted({(line["name"], line["version"], line["suite"], line["passed"]) for line in lines})
    return SUITES + "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def main(action, lines):
    made = page(pathlib.Path(lines).read_text(encoding="utf-8").splitlines())
    if action == "write":
        PAGE.write_text(made, encoding="utf-8")
    elif made != (known := PAGE.read_text(encoding="utf-8")):
        sys.stdout.writelines(difflib.unified_diff(known.splitlines(True), made.splitlines(True), str(PAGE), "the checks"))
        sys.exit("docs/clients.md differs from the checks: run `tests/clients/run write`")


if __name__ == "__main__":
    main(*sys.argv[1:])
