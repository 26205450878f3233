"""Fuzzes every operation of the gateway's OpenAPI description by schemathesis: no answer may be a failure of the server,
nor other than described.

Usage: check.py HANSARD [SECONDS]. Needs the packages of requirements.txt.
"""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

# What the description promises of each answer.
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


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
    return process, url[1], key[1]


def main(hansard, seconds="60"):
    schemathesis = pathlib.Path(sys.executable).parent / "schemathesis"
    with tempfile.TemporaryDirectory() as data:
        pathlib.Path(data).chmod(0o755)
        process, url, key = start(hansard, data + "/hansard")
        try:
            command = [schemathesis, "run", url + "/openapi.json", "--checks", CHECKS, "--max-time", seconds]
            command += ["-H", f"x-api-key: {key}", "-H", "x-session-id: fuzz"]
            command += ["--rate-limit", "auto", "--suppress-health-check", "all", "--request-timeout", "20", "--no-color"]
            outcome = subprocess.run(command, cwd=data, check=False)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
    sys.exit(outcome.returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
