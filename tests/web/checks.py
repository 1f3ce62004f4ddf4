# SPDX-License-Identifier: GPL-2.0-or-later
"""What the checks of all pages have in common."""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, '..', 'conformance'))
from once import alone  # noqa: E402


def same(got, want, what):
    if got != want:
        raise AssertionError('%s: got %r, want %r' % (what, got, want))


def text(b, selector):
    return b.run('document.querySelector(%r).textContent' % selector).replace('\u202f', ' ')


def quiet(b):
    same(b.complaints, [], 'complaints of the page')
    own = [u for u in b.requests if not u.startswith('file:///')]
    same((own, len(b.requests)), ([], 1), 'requests')


def npm_ci(where, source):
    """(where, '') with the packages that source's package-lock.json names, installed there
    once, by whoever comes first; or (None, why not)."""
    with alone(where + '.lock'):
        return _npm_ci(where, source)


def _npm_ci(where, source):
    if os.path.exists(os.path.join(where, 'node_modules')):
        return where, ''
    if not shutil.which('npm'):
        return None, 'npm is not installed'
    os.makedirs(where, exist_ok=True)
    for name in ('package.json', 'package-lock.json'):
        shutil.copy(os.path.join(source, name), where)
    r = subprocess.run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], cwd=where,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=120)
    if r.returncode:
        shutil.rmtree(os.path.join(where, 'node_modules'), ignore_errors=True)
        return None, 'npm ci fails: ' + r.stderr.strip().split('\n')[-1]
    return where, ''


def find_axe(build):
    """axe-core's source, installed below the build directory once; or why not."""
    where, why = npm_ci(os.path.join(build, 'axe'), HERE)
    if why:
        return None, why
    with open(os.path.join(where, 'node_modules', 'axe-core', 'axe.min.js'), encoding='utf-8') as f:
        return f.read(), ''


def axe_violations(b, axe):
    b.run(axe)
    return b.run('axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.map('
                 '(v) => v.id + ": " + v.nodes.map((n) => n.target + " " + n.failureSummary).join("; ")))')


def plan_is_run(b, plan, skipped):
    """Each function of (function, url), as TAP; skipped: why some cannot run.  1: one fails."""
    bad = 0
    print('1..%d' % len(plan))
    for i, (f, url) in enumerate(plan, 1):
        if skipped.get(f):
            print('ok %d - %s # SKIP %s' % (i, f.__name__, skipped[f]))
            continue
        try:
            f(b, url)
            print('ok %d - %s' % (i, f.__name__), flush=True)
        except (AssertionError, RuntimeError, TimeoutError, EOFError) as e:
            bad = 1
            print('not ok %d - %s\n# %s' % (i, f.__name__, str(e).replace('\n', '\n# ')), flush=True)
    return bad
