"""Checks the AI SDK with its provider for OpenAI; only base URL and key are set.

Usage: check.py HANSARD. Needs `npm ci` in this folder.
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))

from hansard_dev import node  # noqa: E402
from openai_gateway import openai_gateway  # noqa: E402


def main(hansard):
    with openai_gateway(hansard) as (base_url, key):
        for api in ("completions", "responses"):
            node(FOLDER / "check.mjs", base_url, key, api)
    print("the AI SDK works over Chat Completions and Responses")


if __name__ == "__main__":
    main(*sys.argv[1:])
