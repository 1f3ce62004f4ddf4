# SPDX-License-Identifier: GPL-2.0-or-later
"""speedscope's importer, in a headless Chromium."""
import base64
import json
import os
import time

import browser
from checks import npm_ci

HERE = os.path.dirname(os.path.abspath(__file__))
# What it would save to a file, it saves to a variable; then Ctrl-S.
SAVE = '''(() => {
    URL.createObjectURL = (blob) => { blob.text().then((t) => { window.saved = t; }); return "#"; };
    HTMLAnchorElement.prototype.click = () => {};
    window.dispatchEvent(new KeyboardEvent("keydown", {key: "s", ctrlKey: true}));
})()'''


def index_of(web):
    """(Its page, None), or (None, why there is none)."""
    where, why = npm_ci(os.path.join(web, 'speedscope'), os.path.join(HERE, 'speedscope'))
    if why:
        return None, why
    return os.path.join(where, 'node_modules', 'speedscope', 'dist', 'release',
                        'index.html'), None


def imported(b, index, profile, folder, name='trace.json'):
    """What speedscope makes of it, in its own format."""
    script = os.path.join(folder, 'profile.js')
    with open(script, 'w') as f:
        f.write('speedscope.loadFileFromBase64("%s", "%s");'
                % (name, base64.b64encode(profile).decode()))
    b.open('file://%s#localProfilePath=%s' % (index, script.lstrip('/')))
    end = browser.patience.clock() + browser.LIMIT_S
    while browser.patience.clock() < end:
        b.run(SAVE)
        time.sleep(0.2)
        saved = b.run('window.saved || ""')
        if saved:
            return json.loads(saved)
    raise TimeoutError('speedscope has not imported it: %s' % b.complaints)
