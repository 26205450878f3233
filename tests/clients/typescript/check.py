"""Checks the TypeScript client: its generated types, its package, its first use in an empty folder, and its tests with the real `ai`,
`@openai/agents` and `react`, over lost connections and killed processes.

Usage: check.py HANSARD FOLDER. FOLDER has the files of `deploy/release`. Needs `npm ci` in this folder and in clients/typescript.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
from hansard_dev import AGENT, data_folder, gateway, secret_key  # noqa: E402
from readme import LINES_MAX, example, expect  # noqa: E402
from report import Client  # noqa: E402
from scripted_model import MODEL, Handler, scripted_model  # noqa: E402

PACKAGE = FOLDER.parents[2] / "clients/typescript"
# The pace of the model's words: answers take long enough to be cut, stopped and resumed.
WORD_S = 0.003
# The model calls it if a message asks for the weather.
TOOL = {"toolName": "weather", "description": "Returns the weather.", "inputSchemaJson": '{"type": "object"}', "needsApproval": False}
USER_SECRET = "a secret of the TypeScript check, long enough"


class Paced(Handler):
    def send(self, **members):
        time.sleep(WORD_S)
        super().send(**members)


def npm(*arguments, folder=PACKAGE):
    options = {"stdout": subprocess.PIPE, "text": True, "check": True, "timeout": 120}
    return subprocess.run(["npm", *arguments], cwd=folder, **options).stdout


def command(hansard, environment, *arguments):
    """What a command of an operator prints."""
    options = {"stdout": subprocess.PIPE, "text": True, "check": True, "env": environment}
    return subprocess.run([hansard, *arguments], **options).stdout.strip()


def prepare(hansard, environment, folder):
    """Gives the agent a tool of its pages, and users; returns the secret that signs their tokens."""
    settings, file = pathlib.Path(folder, "settings.json"), pathlib.Path(folder, "secret")
    settings.write_text(json.dumps({"model": {"server": "dev", "model": MODEL}, "tools": [TOOL]}))
    command(hansard, environment, "agent", "set", AGENT, "--settings-file", str(settings))
    file.write_text(USER_SECRET)
    command(hansard, environment, "signing-key", "add", "check", "--tenant", "demo", "--use", "user", "--secret-file", str(file))
    command(hansard, environment, "agent", "set", AGENT, "--identity-mode", "signed")
    return USER_SECRET


def check_package():
    """What was built for the package: its exports, its types and its size."""
    npm("run", "--silent", "lint")
    print(npm("run", "--silent", "size"), end="")


def install_alone(tarball, folder):
    """Installs the package into an empty folder."""
    pathlib.Path(folder, "package.json").write_text('{"type": "module", "private": true}')
    npm("install", "--silent", "--prefer-offline", "--no-audit", "--no-fund", str(tarball), folder=folder)
    installed = sorted(path.name for path in pathlib.Path(folder, "node_modules").iterdir() if not path.name.startswith("."))
    assert installed == ["@hansard", "eventsource-parser"], installed


def printed_by(code, folder, environment, *arguments):
    """What an example prints in a folder with the package."""
    pathlib.Path(folder, "first-use.mjs").write_text(code)
    options = {"stdout": subprocess.PIPE, "text": True, "check": True, "timeout": 60, "env": environment}
    return subprocess.run(["node", "first-use.mjs", *arguments], cwd=folder, **options).stdout


def use_first(folder, environment):
    """The first example of the package's README, and that of the repository's."""
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```js\n(.*?)```", text, re.DOTALL)[1]
    assert len(code.strip().splitlines()) <= LINES_MAX, code
    said = printed_by(code, folder, environment, environment["CHECK_URL"], environment["CHECK_PUBLIC_KEY"])
    assert said.startswith("echo: "), said
    code = example("js", {**environment, "HANSARD_HTTP_URL": environment["CHECK_URL"]})
    expect(printed_by(code, folder, environment))


def install_beside(tarball):
    """Extracts the client beside the frameworks of this folder."""
    target = FOLDER / "node_modules/@hansard/client"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    subprocess.run(["tar", "-xzf", tarball, "-C", target, "--strip-components", "1"], check=True)


def record():
    """What has passed."""
    version = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))["version"]
    client = Client("`@hansard/client` for JavaScript", version)
    client.works("Chats", "chats, forks and sessions", "streams over lost connections and killed gateways", "`ChatTransport` of `ai`", "hook for `react`")
    client.works("Record", "recording, contexts and live events", "retries that record once", "messages of `ai`", "`Session` of `@openai/agents`, with killed writers")


def names_of(hansard, url, who, environment, data, model):
    """The variables of the tests."""
    kind, _, base_url = model.partition("=")
    return {
        "CHECK_URL": url,
        "CHECK_SECRET_KEY": secret_key(hansard, environment, "append", "read", "erase"),
        "CHECK_PUBLIC_KEY": who["x-api-key"],
        "CHECK_PROGRAM": hansard,
        # Gateways that a test starts have a token and the same model.
        "CHECK_ROLE_TOKEN": command(hansard, environment, "token", "create", "--name", "roles", "--scope", "append", "--scope", "read"),
        "CHECK_MODEL_KIND": kind,
        "CHECK_MODEL_URL": base_url,
        "CHECK_USER_SECRET": prepare(hansard, environment, pathlib.Path(data).parent),
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
    }


def main(hansard, release):
    hansard = str(pathlib.Path(hansard).resolve())
    (tarball,) = pathlib.Path(release).resolve().glob("*.tgz")
    with scripted_model(Paced) as model, data_folder() as data, gateway(hansard, data, model, MODEL) as (url, who, environment):
        subprocess.run(["node", "scripts/generate.mjs", url + "/openapi.json", "--check"], cwd=PACKAGE, check=True)
        environment |= names_of(hansard, url, who, environment, data, model)
        check_package()
        with tempfile.TemporaryDirectory() as empty:
            install_alone(tarball, empty)
            use_first(empty, environment)
        install_beside(tarball)
        subprocess.run([PACKAGE / "node_modules/.bin/tsc", "-p", FOLDER], check=True)
        tests = sorted(path.name for path in FOLDER.glob("*.test.mjs"))
        # Only what failed is worth reading.
        reporter = ["--test-reporter", "dot"]
        subprocess.run(["node", "--test", "--test-concurrency=3", *reporter, *tests], cwd=FOLDER, env=environment, check=True, timeout=240)
    record()
    print(f"the TypeScript client passed the tests of {len(tests)} files")


if __name__ == "__main__":
    main(*sys.argv[1:])
