# SPDX-License-Identifier: GPL-2.0-or-later
"""`uniscope serve`, started, and asked as browsers and others ask it."""
import contextlib
import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", place) for place in ("conformance", "guests")]
import patience  # noqa: E402
from harness import Skip, check  # noqa: E402


def until(holds, what, seconds=60):
    end = patience.clock() + seconds
    while not holds():
        check(patience.clock() < end, f"{what}: not in {seconds} s")
        time.sleep(0.02)


class Serve:
    """A process that serves; port, token and url are those that it prints."""

    def __init__(self, build, *args, cwd=None, command="serve", port="0", options=None):
        self.said = tempfile.TemporaryFile("w+")
        options = ["--port", port, "--no-open"] if options is None else options
        self.process = subprocess.Popen(
            [os.path.join(build, "uniscope"), command, *options, *args],
            cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.said, text=True)
        self.url = self.process.stdout.readline().strip()
        told = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})", self.url)
        if not told:
            self.process.wait()
            if "built without libmicrohttpd" in self.errors():
                raise Skip("built without libmicrohttpd")
            raise AssertionError(f"no URL but {self.url!r}: {self.errors()}")
        self.port, self.token = int(told[1]), told[2]

    def errors(self):
        self.said.seek(0)
        return self.said.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.said.close()

    def end(self, how=signal.SIGINT):
        """Ended by its user: that is no failure, and nobody has complained."""
        self.process.send_signal(how)
        code = self.process.wait(60)
        errors = self.errors()
        check(code == 0, f"exit {code}: {errors}")
        check("Sanitizer" not in errors, errors)
        return errors

    def path(self, path="/", token=None, **query):
        query["token"] = self.token if token is None else token
        return path + "?" + urllib.parse.urlencode({k: v for k, v in query.items() if v != ""})

    def ask(self, path, method="GET", fields=(), body=None, timeout=60):
        """(status, fields, bytes) of a path as it is to be sent."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(c):
            c.request(method, path, body, dict(fields))
            answer = c.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def get(self, path="/", **query):
        """(status, text)"""
        status, _, got = self.ask(self.path(path, **query))
        return status, got.decode(errors="replace")

    def is_sanitized(self):
        """Then memory is not what it would be."""
        with open(f"/proc/{self.process.pid}/exe", "rb") as f:
            return b"__asan_init" in f.read()

    def memory(self):
        """Resident bytes."""
        with open(f"/proc/{self.process.pid}/status") as f:
            return 1024 * int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])
