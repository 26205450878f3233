"""The scenarios of the conformance suite that a server with tools and resources of its own can pass.

The suite is for libraries. Left out are:
- `tools-call-*`, `resources-read-*`, `resources-templates-read`, `json-schema-2020-12`, `http-custom-header-server-validation`,
  `elicitation-*`, `input-required-result-*` and `tasks-*`: they call fixtures, such as the tool `test_simple_text`. Of
  `server-stateless`, 21 of 25 checks pass; the others call fixtures.
- `prompts-*`, `completion-complete`, `logging-set-level`, `resources-subscribe`, `resources-unsubscribe`, `server-sse-polling`,
  `server-session-lifecycle`, `sep-2640-*`: prompts, completion, logging, subscriptions of
  sessions, sessions and skills are not offered. `caching`
  passes but for its request of prompts.
- `dns-rebinding-protection`: it is for servers without authentication, and expects that pages of localhost are accepted. With a
  service token no page is; the rejection of other hosts passes, and is tested in `tests/tests/http/mcp/access.rs`.

The suite sends no token, so a proxy adds it.
"""

import contextlib
import http.client
import http.server
import subprocess
import threading
import urllib.parse

# The revision, and the scenarios of it that need no fixtures.
SCENARIOS = {
    "2025-11-25": ["server-initialize", "ping", "tools-list", "resources-list"],
    "2026-07-28": [
        "tools-list", "resources-list", "http-header-validation", "sep-2164-resource-not-found", "server-sse-multiple-streams",
    ],
}


@contextlib.contextmanager
def with_token(url, token):
    """A proxy that adds the token to each request; it changes no other header."""
    target = urllib.parse.urlsplit(url)

    class Proxy(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def relay(self):
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            onward = http.client.HTTPConnection(target.hostname, target.port, timeout=30)
            onward.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                onward.putheader(name, value)
            onward.putheader("authorization", f"Bearer {token}")
            onward.endheaders(body)
            answer = onward.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = relay

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):
            """A client that hangs up is no error."""

    server = Server(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{server.server_port}{target.path}"
    finally:
        server.shutdown()


def check(node, modules, url, token):
    suite = modules / "@modelcontextprotocol/conformance/dist/index.js"
    with with_token(url, token) as proxied:
        for revision, scenarios in SCENARIOS.items():
            for scenario in scenarios:
                command = [str(node), str(suite), "server", "--url", proxied, "--scenario", scenario, "--spec-version", revision]
                outcome = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
                if outcome.returncode:
                    print(outcome.stdout, outcome.stderr)
                    raise SystemExit(f"conformance {revision} {scenario} failed")
                print(f"conformance {revision} {scenario}: ok")
