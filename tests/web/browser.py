# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium driven by the DevTools protocol over two pipes (file descriptors 3
and 4 of the browser, messages end with a NUL byte), with nothing but Python's library."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'guests'))
import patience  # noqa: E402

FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         '--disable-dev-shm-usage', '--hide-scrollbars', '--remote-debugging-pipe',
         # One process draws all pages, and none is started for the next one beforehand.
         '--renderer-process-limit=1', '--disable-features=SpareRendererForSitePerProcess']
LIMIT_S = 120
KEYS = {'Enter': (13, '\r'), 'Escape': (27, ''), ' ': (32, ' '), 'Home': (36, ''),
        'ArrowLeft': (37, ''), 'ArrowUp': (38, ''), 'ArrowRight': (39, ''),
        'ArrowDown': (40, ''), '/': (191, '/'), 's': (83, 's'), '+': (187, '+'), '-': (189, '-')}


def find():
    for name in ('chromium', 'chromium-browser', 'google-chrome'):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    """One browser with one page.  What the page complained of is in .complaints, what it
    asked the network for in .requests."""

    def __init__(self, program):
        self.home = tempfile.mkdtemp(prefix='uniscope-web-')
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        # The pipes' own numbers may be 3 and 4: move them out of the way first.
        script = 'exec 3<&%d 4>&%d; exec "$@"' % (to_browser, from_browser)
        self.process = subprocess.Popen(
            ['bash', '-c', script, 'browser', program, *FLAGS, '--user-data-dir=' + self.home],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b''
        self.last_id = 0
        self.session = self.target = None
        self.complaints, self.requests = [], []
        self.loaded = False

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.home, ignore_errors=True)

    def _receive(self, deadline):
        while b'\0' not in self.buffer:
            if patience.clock() > deadline:
                raise TimeoutError('the browser does not answer')
            if not select.select([self.read_end], [], [], 1)[0]:
                continue
            piece = os.read(self.read_end, 1 << 20)
            if not piece:
                raise EOFError('the browser has ended')
            self.buffer += piece
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def _note(self, message):
        method, p = message.get('method'), message.get('params', {})
        if method == 'Runtime.consoleAPICalled':
            self.complaints.append('console.%s: %s' % (
                p['type'], ' '.join(str(a.get('value', a.get('description'))) for a in p['args'])))
        elif method == 'Runtime.exceptionThrown':
            d = p['exceptionDetails']
            self.complaints.append('exception: %s' % d.get('exception', {}).get('description', d['text']))
        elif method == 'Log.entryAdded':
            self.complaints.append('log: %s' % p['entry']['text'])
        elif method == 'Network.requestWillBeSent':
            self.requests.append(p['request']['url'])
        elif method == 'Page.loadEventFired':
            self.loaded = True

    def call(self, method, **params):
        self.last_id += 1
        message = {'id': self.last_id, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        self._send(message)
        deadline = patience.clock() + LIMIT_S
        while True:
            reply = self._receive(deadline)
            if reply.get('id') != self.last_id:
                self._note(reply)
                continue
            if 'error' in reply:
                raise RuntimeError('%s: %s' % (method, reply['error']['message']))
            return reply['result']

    def _send(self, message):
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.write_end, data):]

    def open(self, url, width=1400, height=1000):
        """A new page at url, loaded; forgets the one before and its complaints."""
        self.session = None
        if self.target:
            self.call('Target.closeTarget', targetId=self.target)
        self.target = target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.complaints, self.requests = [], []
        self.loaded = False
        self.call('Page.navigate', url=url)
        deadline = patience.clock() + LIMIT_S
        while not self.loaded:
            self._note(self._receive(deadline))
        self.settle()

    def run(self, expression):
        """The value of a JavaScript expression (of its promise, if it is one)."""
        r = self.call('Runtime.evaluate', expression=expression, awaitPromise=True,
                      returnByValue=True)
        if 'exceptionDetails' in r:
            raise RuntimeError(r['exceptionDetails'].get('exception', {}).get('description'))
        return r['result'].get('value')

    def settle(self):
        """Until two frames after the page's animations are drawn."""
        self.run('new Promise(r => setTimeout(() => requestAnimationFrame(() => '
                 'requestAnimationFrame(() => r(1))), 220))')

    def key(self, key):
        code, text = KEYS[key]
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, code=key, text=text if kind == 'keyDown' else '',
                      windowsVirtualKeyCode=code, nativeVirtualKeyCode=code)
        self.settle()

    def type(self, text):
        self.call('Input.insertText', text=text)
        self.settle()

    def mouse(self, kind, x, y):
        button = {} if kind == 'mouseMoved' else {'button': 'left', 'clickCount': 1}
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **button)

    def click(self, x, y):
        for kind in ('mouseMoved', 'mousePressed', 'mouseReleased'):
            self.mouse(kind, x, y)
        self.settle()

    def prefer(self, scheme):
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        self.settle()

    def picture(self, path):
        data = self.call('Page.captureScreenshot')['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))
