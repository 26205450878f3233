"""The dashboard in a real headless Chromium, with one-time links and with a certified OpenID provider.

Usage: check.py HANSARD [SCREENSHOTS]. Needs node and the packages of package-lock.json here and in ../browser (npm ci
--ignore-scripts). `hansard dev` runs everything; a second gateway on the same servers has the provider.
"""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))

from hansard_dev import DEADLINE_S, ask, data_folder, free_port, gateway, running, wait_for  # noqa: E402

GRANTS = [
    {"claim": "groups", "value": "admins", "tenant": "demo", "role": "administrator"},
    {"claim": "groups", "value": "support", "tenant": "demo", "role": "support"},
    {"claim": "groups", "value": "others", "tenant": "other", "role": "viewer"},
]


def link(hansard, environment, url):
    command = [hansard, "dashboard", "link", "--tenant", "demo", "--name", "root", "--role", "operator", "--url", url]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return made.stdout.strip()


def conversations(url, who):
    for number in range(3):
        chat = ask(url + "/api/chats", {}, who)["id"]
        message = json.dumps({"content": f"<script>alert({number})</script> Where is my parcel?"}).encode()
        headers = {"content-type": "application/json", **who}
        with urllib.request.urlopen(urllib.request.Request(f"{url}/api/chats/{chat}/messages", message, headers)) as answer:
            answer.read()


@contextlib.contextmanager
def provider(redirect_uri):
    command = ["node", str(HERE / "provider.mjs"), redirect_uri]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        yield process.stdout.readline().strip()


def stores_of(environment):
    """The URLs of the servers of `hansard dev`."""
    return {
        "nats": environment["HANSARD_RECORD__NATS_URL"],
        "postgres": environment["HANSARD_READ_MODEL__DATABASE_URL"],
    }


@contextlib.contextmanager
def gateway_with(hansard, data, environment, stores, config, **settings):
    """A second gateway of the same system, with a file of settings; yields its URL, maybe before it serves."""
    port = settings.pop("port", None) or free_port()
    all_settings = {
        "http.server.addr": f"127.0.0.1:{port}",
        "grpc.addr": f"127.0.0.1:{port + 1}",
        "admin_addr": f"127.0.0.1:{port + 2}",
        "record.nats_url": stores["nats"],
        "record.accept_data_loss": "true",
        "read_model.database_url": stores["postgres"],
        "writer_url": environment["HANSARD_WRITER_URL"],
        **settings,
    }
    token = (pathlib.Path(data) / "gateway.token").read_text().strip()
    command = [hansard, "gateway", "--config", str(config)]
    command += [part for key, value in all_settings.items() for part in ("--set", f"{key}={value}")]
    with running(command, env={**environment, "HANSARD_WRITER_TOKEN": token}):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def gateway_with_provider(hansard, data, environment, stores):
    """A second gateway of the same system, where people sign in at the provider."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with provider(url + "/dashboard/sign-in/callback") as issuer:
        loopback = json.dumps(["127.0.0.0/8"])
        settings = {
            "egress.allow": loopback,
            "egress.allow_http": loopback,
            "http.dashboard.oidc.issuer": issuer,
            "http.dashboard.oidc.url": url,
            "http.dashboard.oidc.client_id": "hansard",
            "http.dashboard.oidc.client_secret": "a secret of the client: with a colon",
        }
        config = pathlib.Path(data) / "provider.toml"
        grants = "\n".join(
            "[[http.dashboard.oidc.grants]]\n" + "\n".join(f'{key} = "{value}"' for key, value in grant.items())
            for grant in GRANTS
        )
        config.write_text(grants + "\n")
        with gateway_with(hansard, data, environment, stores, config, port=port, **settings):
            wait_for("the second gateway", lambda: ask(url + "/v1/limits"))
            yield url


def main(hansard, *screenshots):
    with data_folder() as data, tempfile.TemporaryDirectory() as folder, gateway(hansard, data) as (url, who, environment):
        conversations(url, who)
        create = [hansard, "tenant", "create", "other"]
        subprocess.run(create, stdout=subprocess.DEVNULL, check=True, env=environment)
        with gateway_with_provider(hansard, data, environment, stores_of(environment)) as provider_url:
            settings = {
                "url": url,
                "link": link(hansard, environment, url),
                "plain_link": link(hansard, environment, url),
                "provider_url": provider_url,
            }
            command = ["node", str(HERE / "page.mjs"), json.dumps(settings), folder, *screenshots]
            checked = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=2 * DEADLINE_S)
    print(checked.stdout.strip())


if __name__ == "__main__":
    main(*sys.argv[1:])
