#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bench_import.py BUILD [THOUSANDS]: a perf.data of many samples, imported and reported as folded
stacks, beside `perf script` with an awk that folds its text as flame graph tools do.

Stacks are 12 deep, drawn evenly of 10,000, in functions of the program itself."""
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'exports'))
import make_perf_data as form  # noqa: E402

BASE, DEPTH, STACKS, PID = 0x10000000, 12, 10000, 4242
FOLD = r'''
/^$/ { if (n) { s = f[n]; for (i = n - 1; i; i--) s = s ";" f[i]; sum[s]++ } n = 0; next }
/^[ \t]+[0-9a-f]+ / { f[++n] = $2; next }
END { for (s in sum) print s, sum[s] }'''


def symbols(program):
    told = subprocess.run(['nm', '--defined-only', program], capture_output=True, text=True)
    return [int(line.split()[0], 16) for line in told.stdout.splitlines()
            if len(line.split()) == 3 and line.split()[1] in 'tT']


def text_of(program):
    """Address, size and offset of its code's segment."""
    told = subprocess.run(['readelf', '-lW', program], capture_output=True, text=True).stdout
    row = next(line.split() for line in told.splitlines()
               if line.strip().startswith('LOAD') and ' E ' in line.replace('R E', ' E '))
    return int(row[2], 16), int(row[5], 16), int(row[1], 16)


def make(path, program, n):
    draw = random.Random(9)
    places = symbols(program)
    stacks = [[BASE + draw.choice(places) + 1 for _ in range(DEPTH)] for _ in range(STACKS)]
    at, size, offset = text_of(program)
    records = [form.comm(PID, PID, 'bench'),
               form.mapping(PID, BASE + at, size, offset, program, form.USER)]
    user = (1 << 64) - 512
    form.CONTEXT_GUEST_KERNEL = user
    for i in range(n):
        stack = draw.choice(stacks)
        records.append(form.sample(PID, PID, 10 ** 9 + i * 10 ** 6, stack[0], form.USER, stack))
    with open(path, 'wb') as f:
        f.write(form.as_file(records, True))


def cost(command, **more):
    """CPU seconds of it and of what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    build = os.path.abspath(sys.argv[1])
    n = int(sys.argv[2]) * 1000 if len(sys.argv) > 2 else 1000000
    program = os.path.join(build, 'uniscope')
    perf = shutil.which('perf')
    with tempfile.TemporaryDirectory(prefix='uniscope-bench-') as folder:
        data, uni = (os.path.join(folder, name) for name in ('perf.data', 'imported.data'))
        make(data, program, n)
        print(f'{n / 1e6:.1f} M samples, {os.path.getsize(data) / 2 ** 20:.0f} MiB of perf.data')
        own = cost([program, 'import', '-q', '--all', '-o', uni, data])
        more = cost([program, 'report', '-f', 'folded', uni])
        print(f'import {own:.2f} s, report {more:.2f} s')
        if not perf:
            print('perf is not installed: nothing to compare with')
            return
        chain = f'{perf} script -F ip,sym -i {data} | awk \'{FOLD}\''
        theirs = cost(['sh', '-c', chain], env={**os.environ, 'HOME': folder})
        print(f'perf script and an awk that folds: {theirs:.2f} s: '
              f'{theirs / (own + more):.1f} times')


main()
