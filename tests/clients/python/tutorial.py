"""Follows a tutorial line by line in an empty folder, as a new user would, and measures the time.

Usage: tutorial.py HANSARD [PAGE]. Blocks of `sh` are run in order, in one shell; blocks of `text` are what they print. What a block
of `console` does is done here: the running deployment and its variables. Packages are installed as the page says.
"""

import contextlib
import os
import shlex
import pathlib
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent
REPOSITORY = FOLDER.parents[2]
sys.path.append(str(FOLDER.parent))

from hansard_dev import data_folder, gateway  # noqa: E402

PAGE = REPOSITORY / "docs/tutorial/langgraph-agent.md"
# Most seconds from an empty folder to an agent with memory.
SECONDS_MAX = 180


def blocks(page, language):
    """The blocks of a page in a language."""
    parts = page.read_text("utf-8").split("\n```")[1::2]
    found = (part.partition("\n") for part in parts)
    return [code for name, _, code in found if name == language]


def variables(names):
    """The variables of the line that `hansard dev` prints, and nothing else of this process but its programs."""
    # The line ends where no backslash continues it.
    printed = names["DEV_OUTPUT"].split("export ", 1)[1].replace("\\\n", " ").partition("\n")[0]
    given = dict(part.split("=", 1) for part in shlex.split(printed))
    return {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "REPOSITORY": str(REPOSITORY), **given}


def follow(page, names):
    """What the commands of a page print, and the seconds that they took."""
    with tempfile.TemporaryDirectory() as folder:
        started_at = time.monotonic()
        script = "\n".join(blocks(page, "sh"))
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=variables(names),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        seconds = time.monotonic() - started_at
    if ended.returncode != 0:
        sys.exit(f"{page.name} failed:\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout, seconds


def check(page, printed, seconds):
    expected = "\n".join(blocks(page, "text")) + "\n"
    assert printed == expected, f"{page.name} printed:\n{printed}\ninstead of:\n{expected}"
    assert seconds < SECONDS_MAX, f"{page.name} took {seconds:.0f} s, at most {SECONDS_MAX} s"


def main(hansard, page=PAGE):
    page = pathlib.Path(page)
    with contextlib.ExitStack() as stack:
        data = stack.enter_context(data_folder())
        _, _, names = stack.enter_context(gateway(hansard, data))
        printed, seconds = follow(page, names)
    check(page, printed, seconds)
    print(f"{page.name}: {len(printed.splitlines())} lines as printed, {seconds:.0f} s of at most {SECONDS_MAX}")


if __name__ == "__main__":
    main(*sys.argv[1:])
