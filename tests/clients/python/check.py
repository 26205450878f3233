"""Checks the Python package of `clients/python`: its wheel by itself and with each framework, its examples and its tests, and the
tests that `openai-agents` ships for its own sessions.

Usage: check.py (HANSARD FOLDER | install). FOLDER has the files of `deploy/release`. Pinned packages are installed into CI_CLIENTS_DIR, or
else below target.
"""

import contextlib
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import venv

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[2]
PACKAGE = REPOSITORY / "clients/python"
sys.path.append(str(FOLDER.parent))

from hansard_dev import AGENT, data_folder, gateway, secret_key  # noqa: E402
from readme import example, expect  # noqa: E402
from report import Client  # noqa: E402

# The examples that are run twice: in the second process, each one continues its conversation.
EXAMPLES = {
    "openai_agents": "4 items",
    "pydantic_ai_store": "4 messages, 2 in the fork",
    "langchain_history": "4 messages",
    "llama_index_memory": "4 messages",
}
FRAMEWORKS = {
    "openai-agents": ["items come back exactly", "the tests of its own sessions", "sessions across killed processes"],
    "pydantic-ai-slim": ["branches and forks of conversations", "saves that compare and set"],
    "langchain-core": ["messages come back exactly"],
    "llama-index-core": ["messages come back exactly"],
}
API = "package `hansard`"


def run(*command, **options):
    """The output of a program, which must succeed."""
    ended = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, **options)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{ended.stdout}")
    return ended.stdout


def environment_at(folder, *requirements):
    """The Python of an environment with pinned packages."""
    python = folder / "bin/python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    pip(python, "--require-hashes", *(part for name in requirements for part in ("-r", FOLDER / name)))
    return python


def pip(python, *arguments):
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)


@contextlib.contextmanager
def deployment(hansard):
    """The environment of clients of a running deployment."""
    with data_folder() as data, gateway(hansard, data) as (http_url, _, names):
        token = secret_key(hansard, names, "append", "read", "erase")
        yield {
            **names,
            "HANSARD": str(pathlib.Path(hansard).resolve()),
            "HANSARD_HTTP_URL": http_url,
            "CLIENT_TOKEN": token,
            "HANSARD_AGENT": AGENT,
            "MODEL": AGENT,
            "OPENAI_BASE_URL": http_url + "/openai/v1",
            "OPENAI_API_KEY": token,
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
            "PYTHONWARNINGS": "ignore",
            # The short form of the tests.
            "KILLS": "1",
            "SEEDS": "1",
        }


def of_client(names):
    """The environment of a program that has the token of a client, and the address of the gateway alone."""
    others = {name: value for name, value in names.items() if name != "HANSARD_WRITER_URL"}
    return {**others, "HANSARD_TOKEN": names["CLIENT_TOKEN"]}


def check_examples(python, names):
    for name, expected in EXAMPLES.items():
        for _ in range(2):
            printed = run(python, PACKAGE / f"examples/{name}.py", "Where is my parcel?", env=of_client(names))
        assert printed.splitlines()[-1] == expected, (name, printed)


def install():
    """The environment with all frameworks, and the folder with the source of `openai-agents`."""
    environments = pathlib.Path(os.environ.get("CI_CLIENTS_DIR", REPOSITORY / "target/ci-clients"))
    folder = environments.with_name(environments.name + "-python")
    python = environment_at(folder, "requirements.txt")
    arguments = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes", "--dest", folder / "source"]
    run(python, "-m", "pip", "download", "--quiet", *arguments, "-r", FOLDER / "requirements-source.txt")
    return python, folder


def check_own_tests(python, archives, folder, names):
    """The tests that `openai-agents` ships for its own sessions, with ours."""
    (source,) = archives.glob("openai_agents-*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = (path for path in folder.iterdir() if path.is_dir())
    names = {**of_client(names), "PYTHONPATH": str(PACKAGE / "tests/frameworks")}
    tests = ["tests/memory/test_session.py", "tests/memory/test_session_limit.py"]
    return run(python, "-m", "pytest", "-q", "-p", "agents_plugin", *tests, cwd=unpacked, env=names).splitlines()[-1]


def check_first_use(empty, names):
    """With nothing but the package: the example of the README, as an operator, and that of the package, as a client."""
    expect(run(empty, "-c", example("python", names), env=names))
    expect(run(empty, PACKAGE / "examples/first_use.py", env=of_client(names)))


def main(hansard, release=None):
    python, installed = install()
    if hansard == "install":
        return
    (wheel,) = pathlib.Path(release).glob("*.whl")
    with tempfile.TemporaryDirectory() as folder, deployment(hansard) as names:
        folders = [pathlib.Path(folder, name) for name in ("empty", "agents")]
        empty = environment_at(folders[0], "requirements-core.txt")
        for one in (empty, python):
            pip(one, "--no-deps", "--force-reinstall", wheel)
        check_first_use(empty, names)
        check_examples(python, names)
        tests = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", PACKAGE / "tests", cwd=PACKAGE, env=names)
        own = check_own_tests(python, installed / "source", folders[1], names)
        types = run(python, "-m", "mypy", "--cache-dir", installed / "mypy", cwd=PACKAGE)
    for framework, features in FRAMEWORKS.items():
        version = run(python, "-c", f"import importlib.metadata as m; print(m.version('{framework}'))").strip()
        Client(f"`{framework}` for Python", version).works(API, *features)
    print(f"hansard for Python: {tests.splitlines()[-1]}\nthe tests of openai-agents: {own}\ntypes: {types.strip()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
