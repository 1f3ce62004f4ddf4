#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How large the page of a large recording is, and how soon it can be used.

usage: bench_page.py BUILD [MILLIONS [STACKS]]

Stacks are drawn evenly, which is the worst case (bench-report).  Times are the page's own, in a
headless Chromium without a GPU, the best of some rounds: since the navigation began, until the
flame graph is on the screen; what a zoom, a filter and a chosen time take with all that follows.
"""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "web"))
import browser  # noqa: E402

ROUNDS = 3
OPEN = """ready.then(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(
    () => r(performance.now())))))"""
TIMED = """(() => { const t = performance.now(); %s; flame.draw(); return performance.now() - t; })()"""
STEPS = {
    "zoom": "flame.zoom = pathTo(N, N.func.length - 1)[3]; showFlame(false)",
    "zoom out": "flame.zoom = 0; showFlame(false)",
    "filter by a regular expression": "state.focus = 'e'; showWeights(0); state.focus = ''",
    "choose a tenth of the time": "{ const b = (i) => bucketTime(i * T.buckets / 10) / 1e9;"
                                  " state.time = b(3).toFixed(9) + '-' + b(4).toFixed(9); } showWeights(0); state.time = ''",
    "search": "searchFor('a'); searchFor('')",
}


def measure(page):
    took = {}
    for _ in range(ROUNDS):
        b = browser.Browser(browser.find())
        try:
            b.open("file://" + page)
            # The page is opened again, for the browser's own start is not the page's.
            b.call("Page.navigate", url="file://" + page + "?2")
            while b.run("typeof ready") != "object":
                pass
            took.setdefault("open", []).append(b.run(OPEN))
            for name, step in STEPS.items():
                took.setdefault(name, []).append(b.run(TIMED % step))
            heap = b.run("performance.memory.usedJSHeapSize")
            nodes = b.run("[nodeCount, T.n, T.every]")
        finally:
            b.close()
    print(f"{nodes[0]} frames, {nodes[1]} entries of time (one of {nodes[2]} samples), {heap / 2**20:.0f} MiB of the browser's memory")
    for name, ms in took.items():
        print(f"{name:32}{min(ms):7.0f} ms")


def main():
    build = os.path.abspath(sys.argv[1])
    millions, stacks = sys.argv[2] if len(sys.argv) > 2 else "10", sys.argv[3] if len(sys.argv) > 3 else "100000"
    if not browser.find():
        print("no chromium: pages were not opened")
        return
    with tempfile.TemporaryDirectory(prefix="uniscope-page-", dir="/var/tmp") as folder:
        data, page = os.path.join(folder, "r.data"), os.path.join(folder, "r.html")
        subprocess.run([os.path.join(build, "tests/bench/bench-report"), millions, stacks, data], check=True)
        subprocess.run([os.path.join(build, "uniscope"), "report", "-o", page, data], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print(f"{millions} million samples, {stacks} stacks: a page of {os.path.getsize(page) / 1e6:.2f} MB")
        measure(page)


if __name__ == "__main__":
    main()
