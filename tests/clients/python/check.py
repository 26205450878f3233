"""Checks the Python package of `clients/python`: its wheel by itself and with each framework, its examples and its tests, and the
tests that `openai-agents` and LangGraph ship for their own sessions and stores.

Usage: check.py (HANSARD | install). Pinned packages are installed into CI_CLIENTS_DIR, or else below target.
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
from report import Client  # noqa: E402

# The examples that are run twice: in the second process, each one continues its conversation.
EXAMPLES = {
    "openai_agents": "4 items",
    "pydantic_ai_store": "4 messages, 2 in the fork",
    "langchain_history": "4 messages",
    "llama_index_memory": "4 messages",
    "langgraph_agent": "4 messages",
    "langgraph_store": "2 memories",
}
FRAMEWORKS = {
    "openai-agents": ["items come back exactly", "the tests of its own sessions", "sessions across killed processes"],
    "pydantic-ai-slim": ["branches and forks of conversations", "saves that compare and set"],
    "langchain-core": ["messages come back exactly"],
    "llama-index-core": ["messages come back exactly"],
    "langgraph": [
        "checkpoints across killed processes",
        "histories under a key",
        "items across killed processes",
        "langgraph-checkpoint-conformance: 81 of 81 tests of a saver, asynchronous and blocking",
        "stores",
        "the tests of its own stores",
    ],
}
# The tests that frameworks ship: the beginning of the name of the source, our plugin of pytest, and the files.
OWN_TESTS = [
    ("openai_agents-", "agents_plugin", ["memory/test_session.py", "memory/test_session_limit.py"]),
    ("langgraph_checkpoint-", "langgraph_plugin", ["test_store.py"]),
    ("langgraph_checkpoint_sqlite-", "langgraph_plugin", ["test_store.py", "test_async_store.py", "test_ttl.py"]),
]
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


def built_wheel(python, folder):
    """The wheel that is built from the source distribution, outside of the repository."""
    run(python, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=PACKAGE)
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder / "source", filter="data")
    (unpacked,) = (folder / "source").iterdir()
    run(python, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=unpacked)
    (wheel,) = folder.glob("*.whl")
    return wheel


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
    for example, expected in EXAMPLES.items():
        for _ in range(2):
            printed = run(python, PACKAGE / f"examples/{example}.py", "Where is my parcel?", env=of_client(names))
        assert printed.splitlines()[-1] == expected, (example, printed)


def install():
    """The environment with all frameworks, and the folder with the sources of those whose tests we run."""
    environments = pathlib.Path(os.environ.get("CI_CLIENTS_DIR", REPOSITORY / "target/ci-clients"))
    folder = environments.with_name(environments.name + "-python")
    python = environment_at(folder, "requirements.txt", "requirements-langgraph.txt")
    arguments = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes", "--dest", folder / "source"]
    run(python, "-m", "pip", "download", "--quiet", *arguments, "-r", FOLDER / "requirements-source.txt")
    return python, folder


def check_own_tests(python, archives, folder, names):
    """The tests that frameworks ship for their own sessions and stores, with ours; returns what each one printed last."""
    printed = []
    for name, plugin, files in OWN_TESTS:
        (source,) = archives.glob(f"{name}*.tar.gz")
        with tarfile.open(source) as archive:
            archive.extractall(folder / name, filter="data")
        (unpacked,) = (folder / name).iterdir()
        environment = {**of_client(names), "PYTHONPATH": str(PACKAGE / "tests/frameworks")}
        tests = [f"tests/{file}" for file in files]
        output = run(python, "-m", "pytest", "-q", "-p", plugin, *tests, cwd=unpacked, env=environment)
        printed.append(f"{unpacked.name}: {output.splitlines()[-1].strip('= ')}")
    return printed


def main(hansard):
    python, installed = install()
    if hansard == "install":
        return
    with tempfile.TemporaryDirectory() as folder, deployment(hansard) as names:
        folders = [pathlib.Path(folder, name) for name in ("built", "empty", "own")]
        wheel = built_wheel(python, folders[0])
        empty = environment_at(folders[1], "requirements-core.txt")
        for one in (empty, python):
            pip(one, "--no-deps", "--force-reinstall", wheel)
        printed = run(empty, PACKAGE / "examples/first_use.py", env=of_client(names))
        assert "Where is my parcel?" in printed, printed
        check_examples(python, names)
        tests = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", PACKAGE / "tests", cwd=PACKAGE, env=names)
        own = check_own_tests(python, installed / "source", folders[2], names)
        types = run(python, "-m", "mypy", "--cache-dir", installed / "mypy", cwd=PACKAGE)
    for framework, features in FRAMEWORKS.items():
        version = run(python, "-c", f"import importlib.metadata as m; print(m.version('{framework}'))").strip()
        Client(f"`{framework}` for Python", version).works(API, *features)
    print(f"hansard for Python: {tests.splitlines()[-1]}\ntypes: {types.strip()}", *own, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
