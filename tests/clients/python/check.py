"""Checks the Python package of `clients/python`: its wheel by itself and with each framework, its examples and its tests, and the
tests that `openai-agents` and LangGraph ship for their own sessions and stores.

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
import xml.etree.ElementTree

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
    "langgraph_agent": "4 messages",
    "langgraph_store": "2 memories",
}
FRAMEWORKS = {
    "openai-agents": ["items come back exactly", "the tests of its own sessions", "sessions across killed processes"],
    "pydantic-ai-slim": ["branches and forks of conversations", "saves across killed processes", "saves that compare and set"],
    "langchain-core": ["histories across killed processes", "messages come back exactly"],
    "llama-index-core": ["messages come back exactly", "stores across killed processes"],
    "langgraph": [
        "checkpoints across killed processes",
        "histories under a key",
        "items across killed processes",
        "langgraph-checkpoint-conformance: 81 of 81 tests of a saver, asynchronous and blocking",
        "stores",
        "the tests of its own stores",
    ],
}
# The modules with the tests of an adapter.
SUITES = {
    "openai-agents": ["test_agents"],
    "pydantic-ai-slim": ["test_pydantic_ai"],
    "langchain-core": ["test_langchain"],
    "llama-index-core": ["test_llama_index"],
    "langgraph": [
        "test_history_keys",
        "test_keyed_history",
        "test_langgraph_faults",
        "test_langgraph_pure",
        "test_langgraph_races",
        "test_langgraph_random",
        "test_langgraph_saver",
        "test_langgraph_saver_faults",
        "test_langgraph_store",
        "test_langgraph_upkeep",
    ],
}
# The word of an adapter in the names of the tests of faults.
FAULTS = {
    "openai-agents": "OpenAiAgents",
    "pydantic-ai-slim": "PydanticAi",
    "langchain-core": "LangChain",
    "llama-index-core": "LlamaIndex",
}
FAULTS_SUITE = "`clients/python/tests/test_faults.py`: killed processes, lost requests and answers"
# The tests that frameworks ship: the framework, the beginning of the name of the source, our plugin of pytest, and the files.
OWN_TESTS = [
    ("openai-agents", "openai_agents-", "agents_plugin", ["memory/test_session.py", "memory/test_session_limit.py"]),
    ("langgraph", "langgraph_checkpoint-", "langgraph_plugin", ["test_store.py"]),
    ("langgraph", "langgraph_checkpoint_sqlite-", "langgraph_plugin", ["test_store.py", "test_async_store.py", "test_ttl.py"]),
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
    """The environment with all frameworks, and the folder with the sources of those whose tests we run."""
    environments = pathlib.Path(os.environ.get("CI_CLIENTS_DIR", REPOSITORY / "target/ci-clients"))
    folder = environments.with_name(environments.name + "-python")
    python = environment_at(folder, "requirements.txt", "requirements-langgraph.txt")
    arguments = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes", "--dest", folder / "source"]
    run(python, "-m", "pip", "download", "--quiet", *arguments, "-r", FOLDER / "requirements-source.txt")
    return python, folder


def check_own_tests(python, archives, folder, names):
    """The tests that frameworks ship for their own sessions and stores, with ours: framework, suite, and how many passed."""
    passed = []
    for framework, name, plugin, files in OWN_TESTS:
        (source,) = archives.glob(f"{name}*.tar.gz")
        with tarfile.open(source) as archive:
            archive.extractall(folder / name, filter="data")
        (unpacked,) = (folder / name).iterdir()
        environment = {**of_client(names), "PYTHONPATH": str(PACKAGE / "tests/frameworks")}
        results = folder / name / "results.xml"
        tests = [f"tests/{file}" for file in files]
        run(python, "-m", "pytest", "-q", "-p", plugin, f"--junitxml={results}", *tests, cwd=unpacked, env=environment)
        suite = f"its own tests, of `{name.rstrip('-')}`, with the class of `hansard`"
        passed.append((framework, suite, len(passed_tests(results))))
    return passed


def check_tests(python, folder, names):
    """Our tests. Returns those that passed."""
    results = folder / "results.xml"
    options = ["-q", "-p", "no:cacheprovider", f"--junitxml={results}"]
    run(python, "-m", "pytest", *options, PACKAGE / "tests", cwd=PACKAGE, env=names)
    return passed_tests(results)


def passed_tests(results):
    """The module and the name of each test that passed: it has no failure, error or reason why it was skipped."""
    cases = xml.etree.ElementTree.parse(results).iter("testcase")
    ends = ("failure", "error", "skipped")
    return [(case.get("classname"), case.get("name")) for case in cases if not any(case.find(end) is not None for end in ends)]


def report(python, tests, own):
    """What the checks showed of each framework."""
    for framework, features in FRAMEWORKS.items():
        version = run(python, "-c", f"import importlib.metadata as m; print(m.version('{framework}'))").strip()
        client = Client(f"`{framework}` for Python", version)
        client.works(API, *features)
        for module in SUITES[framework]:
            client.passed(f"`clients/python/tests/{module}.py`", sum(of.endswith(module) for of, _ in tests))
        if framework in FAULTS:
            client.passed(FAULTS_SUITE, sum(FAULTS[framework] in name for _, name in tests))
        for suite, count in (one[1:] for one in own if one[0] == framework):
            client.passed(suite, count)


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
        folders = [pathlib.Path(folder, name) for name in ("empty", "own")]
        empty = environment_at(folders[0], "requirements-core.txt")
        for one in (empty, python):
            pip(one, "--no-deps", "--force-reinstall", wheel)
        check_first_use(empty, names)
        check_examples(python, names)
        tests = check_tests(python, pathlib.Path(folder), names)
        own = check_own_tests(python, installed / "source", folders[1], names)
        types = run(python, "-m", "mypy", "--cache-dir", installed / "mypy", cwd=PACKAGE)
    report(python, tests, own)
    lines = [f"{suite}: {count}" for _, suite, count in own]
    print(f"hansard for Python: {len(tests)} tests\ntypes: {types.strip()}", *lines, sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
