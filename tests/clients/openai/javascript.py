"""Checks models, chat completions, conversations and responses with OpenAI's JavaScript library; only base URL and key are set.

Usage: javascript.py HANSARD. Needs `npm ci` in this folder.
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))

from hansard_dev import node  # noqa: E402
from openai_gateway import openai_gateway  # noqa: E402


def main(hansard):
    with openai_gateway(hansard) as (base_url, key):
        for script in ("completions.mjs", "conversations.mjs", "responses.mjs"):
            node(FOLDER / script, base_url, key)
    print("models, chat completions, conversations and responses work with openai for JavaScript")


if __name__ == "__main__":
    main(*sys.argv[1:])
