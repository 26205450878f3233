"""Serves moto on a free port until its standard input ends, which it does with the process of the tests."""

import sys

from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
_, port = server.get_host_and_port()
print(f"port {port}", flush=True)
sys.stdin.read()
