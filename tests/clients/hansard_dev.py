"""Runs `hansard dev` for client checks: on free ports, with a model server of the check."""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

DEADLINE_S = 120
# The ports of `hansard dev`, counted from its base.
DEV_PORTS = (1, 2, 3, 11, 12, 13, 20, 30)
# The port of X11, the only one of those that browsers block that is a hundred.
UNSAFE_PORT = 6000
# The names of the agent and of the model server in `hansard dev`.
AGENT, SERVER = "demo", "dev"


def free_port():
    """A free port, and with it those that `hansard dev` counts from it. Checks that run at the same time have different numbers in
    CLIENTS_WORKER, 0 or 1, and so never choose the same one. The ports are below those of the workspace's tests (10000 to 31999), which
    may run at the same time as well, and below those of outgoing connections."""
    worker = int(os.environ.get("CLIENTS_WORKER", "0"))
    while True:
        port = random.randrange(20, 98, 2) * 100 + worker * 100
        # Browsers open no page on it.
        if port == UNSAFE_PORT:
            continue
        if all(is_free(port + offset) for offset in (0, *DEV_PORTS)):
            return port


def is_free(port):
    with contextlib.suppress(OSError), socket.socket() as one:
        one.bind(("127.0.0.1", port))
        return True
    return False


def wait_for(what, attempt):
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError):
            found = attempt()
            if found:
                return found
        time.sleep(0.05)
    sys.exit(f"{what} did not appear within {DEADLINE_S} s")


def ask(url, body=None, headers=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json", **(headers or {})}
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=DEADLINE_S) as answer:
        return json.load(answer)


@contextlib.contextmanager
def running(command, **options):
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


@contextlib.contextmanager
def data_folder():
    with tempfile.TemporaryDirectory() as data:
        # Postgres does not run as root, so another user must be able to enter.
        pathlib.Path(data).chmod(0o755)
        yield data + "/hansard"


@contextlib.contextmanager
def gateway(hansard, data, model_server=None, model=None, port_base=None):
    """Runs all roles with a model server, given as KIND=URL, or with the built-in `echo`.

    Yields the HTTP address, the headers of a caller with its own session, and the environment of operator commands, with what
    the program printed as DEV_OUTPUT.
    """
    command = [hansard, "dev", "--import", "none", "--data-dir", data, "--port-base", str(port_base or free_port())]
    if model_server:
        command += ["--model-server", model_server, "--model", model]
    with running(command, stdout=subprocess.PIPE, text=True) as process:
        output = ""
        for line in process.stdout:
            output += line
            if "Ctrl-C" in line:
                break
        key = re.search(r"API key (\S+)", output)
        url = re.search(r"(http://\S+) \(HTTP", output)
        if not key or not url:
            sys.exit("hansard dev did not start")
        threading.Thread(target=process.stdout.read, daemon=True).start()
        names = dict(re.findall(r"(HANSARD_[A-Z_]+)=(\S+)", output))
        # A shell would read the password from its file.
        password = (pathlib.Path(data) / "nats.password").read_text().strip()
        names["HANSARD_RECORD__NATS_URL"] = f"nats://hansard:{password}@" + re.search(r"NATS +nats://(\S+)", output)[1]
        names["HANSARD_READ_MODEL__DATABASE_URL"] = re.search(r"Postgres +(\S+)", output)[1]
        who = {"x-api-key": key[1]}
        who["x-session-id"] = ask(url[1] + "/api/sessions", {}, who)["sessionId"]
        yield url[1], who, {**os.environ, **names, "DEV_OUTPUT": output}


def secret_key(hansard, environment, *scopes):
    """A secret key of a back end for the demo agent."""
    command = [hansard, "token", "create", "--name", "clients", "--agent", AGENT]
    command += [part for scope in scopes for part in ("--scope", scope)]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return made.stdout.strip()


def node(script, *arguments, program="node"):
    """The lines that a check in JavaScript prints; none if node or the packages of its folder are not installed."""
    if shutil.which(program) is None or not (pathlib.Path(script).parent / "node_modules").exists():
        print(f"skipped: node or the packages of {script} are not installed")
        return []
    ended = subprocess.run([program, script, *arguments], stdout=subprocess.PIPE, text=True, check=True, timeout=DEADLINE_S)
    return ended.stdout.splitlines()
