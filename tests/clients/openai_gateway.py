"""A gateway whose agent has the scripted model, and a secret key: what a client of OpenAI's APIs needs."""

import contextlib

from hansard_dev import data_folder, gateway, secret_key
from scripted_model import MODEL, scripted_model


@contextlib.contextmanager
def openai_gateway(hansard):
    """Yields the base URL and the key."""
    with scripted_model() as server, data_folder() as data, gateway(hansard, data, server, MODEL) as (url, _, environment):
        yield url + "/openai/v1", secret_key(hansard, environment, "append", "read", "erase")
