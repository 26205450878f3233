"""The examples of the README: each one is short, and runs as printed against a deployment on other ports."""

import pathlib
import re
import urllib.parse

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
LINES_MAX = 12
SECTION = "First use"
# The ports of `hansard dev` that the examples name, and the variables with the addresses of a deployment.
PORTS = {"127.0.0.1:7301": "HANSARD_WRITER_URL", "127.0.0.1:7302": "HANSARD_GATEWAY_URL", "127.0.0.1:7303": "HANSARD_HTTP_URL"}
# What each example sends and gets back.
EXPECTED = "Where is my parcel?"


def example(language, environment):
    """The only example of a language, with the addresses of a deployment."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    section = text.split(f"## {SECTION}\n", 1)[1].split("\n## ", 1)[0]
    (code,) = re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert len(code.splitlines()) <= LINES_MAX, code
    for address, name in PORTS.items():
        code = code.replace(address, urllib.parse.urlsplit(environment[name]).netloc)
    return code


def expect(printed):
    assert EXPECTED in printed, printed
