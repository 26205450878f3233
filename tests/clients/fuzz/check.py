"""Fuzzes every operation of the gateway's OpenAPI description by schemathesis: no answer may be a failure of the server,
nor other than described.

Usage: check.py HANSARD [SECONDS]. Needs the packages of requirements.txt.
"""

import base64
import hashlib
import hmac
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

# What the description promises of each answer.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def signed(claims, key_id, secret):
    """A JWT of HS256, valid for an hour."""
    part = lambda value: base64.urlsafe_b64encode(value).rstrip(b"=")
    claims = {**claims, "exp": int(time.time()) + 3600}
    header = {"alg": "HS256", "typ": "JWT", "kid": key_id}
    body = b".".join(part(json.dumps(value).encode()) for value in (header, claims))
    return (body + b"." + part(hmac.digest(secret.encode(), body, hashlib.sha256))).decode()


def token(hansard, use, claims, writer):
    """A token that the demo tenant has signed for users or administrators."""
    key_id = f"fuzz-{use}"
    command = [hansard, "signing-key", "add", key_id, "--tenant", "demo", "--use", use, *writer]
    secret = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return signed(claims, key_id, secret)


def start(hansard, data):
    command = [hansard, "dev", "--import", "5", "--data-dir", data, "--port-base", "29300"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    told = ""
    for line in process.stdout:
        told += line
        if "Ctrl-C" in line:
            break
    key = re.search(r"API key (\S+)", told)
    url = re.search(r"(http://\S+) \(HTTP", told)
    if not key or not url:
        sys.exit("hansard dev did not start")
    threading.Thread(target=process.stdout.read, daemon=True).start()
    service_token = re.search(r"HANSARD_TOKEN=(\S+)", told)
    writer = ["--writer", "http://127.0.0.1:29301", "--token", service_token[1]]
    headers = {
        "x-api-key": key[1],
        "x-session-id": "fuzz",
        "x-user-token": token(hansard, "user", {"sub": "fuzz"}, writer),
        "authorization": "Bearer " + token(hansard, "admin", {"sub": "fuzz", "tenant": "demo", "role": "admin"}, writer),
    }
    return process, url[1], headers


def main(hansard, seconds="60"):
    schemathesis = pathlib.Path(sys.executable).parent / "schemathesis"
    with tempfile.TemporaryDirectory() as data:
        pathlib.Path(data).chmod(0o755)
        process, url, headers = start(hansard, data + "/hansard")
        try:
            command = [schemathesis, "run", url + "/openapi.json", "--checks", CHECKS, "--max-time", seconds]
            command += [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
            command += ["--rate-limit", "auto", "--suppress-health-check", "all", "--request-timeout", "20", "--no-color"]
            outcome = subprocess.run(command, cwd=data, check=False)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
    sys.exit(outcome.returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
