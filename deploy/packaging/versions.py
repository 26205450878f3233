"""The version of all packages: every place that states it, the check that they agree, and the change of all of them.

The version of `Cargo.toml` counts. It is a release of three numbers: Python and npm spell pre-releases differently.
"""

import dataclasses
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
# The section of a changelog that has no version yet.
UNRELEASED = "Unreleased"
CHANGELOGS = ("CHANGELOG.md", "clients/python/CHANGELOG.md", "clients/typescript/CHANGELOG.md")


@dataclasses.dataclass(frozen=True)
class Place:
    """A file, the pattern of a version in it, and how often the file states it."""

    path: str
    pattern: str
    count: int | None = 1

    def read(self):
        return (ROOT / self.path).read_text(encoding="utf-8")

    def matches(self):
        return list(re.finditer(self.pattern, self.read(), re.MULTILINE))

    def problems(self, version):
        found = [match[1] for match in self.matches()]
        if not found or self.count not in (None, len(found)):
            yield f"{self.path}: has {len(found)} versions, not {self.count or 'one or more'}: adapt deploy/packaging/versions.py"
        for other in sorted(set(found) - {version}):
            yield f"{self.path}: has the version {other}, not {version}: run deploy/release --set-version {version}"

    def change(self, version):
        """Writes the version, and returns whether the file changes."""
        old = self.read()
        new = re.sub(self.pattern, lambda match: replaced(match, version), old, flags=re.MULTILINE)
        if new != old:
            (ROOT / self.path).write_text(new, encoding="utf-8")
        return new != old


def replaced(match, version):
    begin, end = (at - match.start() for at in match.span(1))
    return match[0][:begin] + version + match[0][end:]


SOURCE = Place("Cargo.toml", r'^\[workspace\.package\]\nversion = "([^"]*)"$')
PLACES = (
    SOURCE,
    # The packages without a source are those of the workspace.
    Place("Cargo.lock", r'^\[\[package\]\]\nname = "[^"]+"\nversion = "([^"]*)"\n(?!source)', None),
    Place("clients/python/pyproject.toml", r'^\[project\]\nname = "hansard"\nversion = "([^"]*)"$'),
    Place("clients/typescript/package.json", r'^  "version": "([^"]*)"'),
    Place("clients/typescript/package-lock.json", r'"name": "@hansard/client",\n *"version": "([^"]*)"', 2),
    Place("deploy/compose.yaml", r"image: hansard:\$\{HANSARD_VERSION:-([^}]*)\}"),
    Place("deploy/kustomization.yaml", r"^  - name: hansard\n    newTag: (\S+)$"),
    Place("docs/clients.md", r"^\| `@hansard/client` for JavaScript \| (\S+) \|", 2),
)


def current():
    """The version of the workspace."""
    (match,) = SOURCE.matches()
    return match[1]


def is_valid(version):
    return VERSION.fullmatch(version) is not None


def changelog_problems(path, version):
    """The newest section with a version must be that of this version, and say something."""
    sections = re.split(r"^## ", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    released = [section.partition("\n") for section in sections if section.strip() != UNRELEASED]
    released = [(title.strip(), text.strip()) for title, _, text in released if title.strip() != UNRELEASED]
    if not released or released[0][0] != version:
        yield f"{path}: the newest version is not {version}: add the section '## {version}' with what changes"
    elif not released[0][1]:
        yield f"{path}: the section of {version} is empty: write what changes"


def problems():
    """What does not agree with the version of the workspace."""
    version = current()
    if not is_valid(version):
        yield f"Cargo.toml: {version} is not three numbers such as 1.2.3"
    for place in PLACES:
        yield from place.problems(version)
    for path in CHANGELOGS:
        yield from changelog_problems(path, version)


def change(version):
    """Writes the version everywhere, also over the title `## Unreleased` of changelogs. Returns the paths of the changed files."""
    titles = [Place(path, rf"^## ({UNRELEASED})$", None) for path in CHANGELOGS]
    return [place.path for place in (*PLACES, *titles) if place.change(version)]
