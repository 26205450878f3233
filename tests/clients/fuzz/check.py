"""Fuzzes every operation of the gateway's OpenAPI description with schemathesis: no answer may be a server error,
or differ from the description.

Usage: check.py HANSARD [SECONDS [CHECKS]]. Needs the packages of requirements.txt.
"""

import base64
import hashlib
import hmac
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from hansard_dev import data_folder, gateway  # noqa: E402

# The checks of each answer; the last one takes long, because bodies have many shapes.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def signed(claims, key_id, secret):
    """A JWT with HS256, valid for an hour."""
    part = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=")
    claims = {**claims, "exp": int(time.time()) + 3600}
    header = {"alg": "HS256", "typ": "JWT", "kid": key_id}
    body = b".".join(part(json.dumps(value).encode()) for value in (header, claims))
    return (body + b"." + part(hmac.digest(secret.encode(), body, hashlib.sha256))).decode()


def token(hansard, use, claims, environment):
    """A token that the demo tenant has signed for users or administrators."""
    key_id = f"fuzz-{use}"
    command = [hansard, "signing-key", "add", key_id, "--tenant", "demo", "--use", use]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return signed(claims, key_id, made.stdout.strip())


def main(hansard, seconds="60", checks=CHECKS):
    schemathesis = pathlib.Path(sys.executable).parent / "schemathesis"
    with data_folder() as data, gateway(hansard, data) as (url, headers, environment):
        admin = {"sub": "fuzz", "tenant": "demo", "role": "admin"}
        headers["x-user-token"] = token(hansard, "user", {"sub": "fuzz"}, environment)
        headers["authorization"] = "Bearer " + token(hansard, "admin", admin, environment)
        command = [schemathesis, "run", url + "/openapi.json", "--checks", checks, "--max-time", seconds]
        command += [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
        command += ["--rate-limit", "auto", "--suppress-health-check", "all", "--request-timeout", "20", "--no-color"]
        outcome = subprocess.run(command, cwd=pathlib.Path(data).parent, check=False)
    sys.exit(outcome.returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
