"""A stand-in for the engine of local models: the surface that the server process uses, over a small real HTTP server.

It is a module `xllamacpp` in a directory on the child's path, so nothing in our own process or code is replaced. It
answers `die` by dying, `wait` after a moment, and everything else with what it was asked.
"""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

_ENGINE = r"""
import json, os, sys, threading, types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
{at_import}
__version__ = "stand-in"

class CommonParams:
    def __init__(self):
        self.model = types.SimpleNamespace()
        self.cpuparams = types.SimpleNamespace()
        self.cpuparams_batch = types.SimpleNamespace()

class Server:
    def __init__(self, params):
        {at_start}
        lock = threading.Lock()
        working = most = 0

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_): pass

            def send(self, body, status=200):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                threads = [params.cpuparams.n_threads, params.cpuparams_batch.n_threads]
                self.send(dict(n_ctx=params.n_ctx, n_parallel=params.n_parallel, threads=threads,
                               path=params.model.path, omp=os.environ.get("OMP_WAIT_POLICY")))

            def do_POST(self):
                nonlocal working, most
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.headers.get("Authorization") not in ["Bearer " + key for key in params.api_keys]:
                    return self.send(dict(error=dict(message="wrong key")), 401)
                asked = body["messages"][-1]["content"]
                if asked == "die":
                    print("out of memory", file=sys.stderr, flush=True)
                    os._exit(9)
                with lock:
                    working += 1
                    most = max(most, working)
                if asked == "wait":
                    threading.Event().wait(0.05)
                with lock:
                    working -= 1
                said = dict(pid=os.getpid(), most=most, slots=params.n_parallel, asked=body)
                events = [dict(delta=dict(content=json.dumps(said)), finish_reason=None), dict(finish_reason="stop")]
                lines = ["data: " + json.dumps(dict(choices=[event])) for event in events]
                data = "\n\n".join([*lines, "data: [DONE]", ""]).encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        server = ThreadingHTTPServer(("127.0.0.1", params.port), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = "http://127.0.0.1:%d" % server.server_address[1]
"""


def engine_environment(directory: Path, *, at_import: str = "", at_start: str = "pass") -> dict[str, str]:
    """Write the stand-in into a directory; return the environment in which a child finds it ahead of the real one.

    `at_import` and `at_start` are statements that the engine runs when it is loaded and when a server starts.
    """
    code = _ENGINE.replace("{at_import}", at_import).replace("{at_start}", at_start or "pass")
    (directory / "xllamacpp.py").write_text(textwrap.dedent(code), "utf-8")
    path = os.pathsep.join([str(directory), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}
