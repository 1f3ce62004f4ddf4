#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Print the weights of src/profile/interval.c.

Samples lie at random distances, uniform from 0.5 to 1.5 (the unit of time is the
sampling period).  What they make of a wave of frequency f in the share of something is
known: S(f) = Re (1 + phi) / (1 - phi) times the variance of independent samples, phi the
characteristic function of a distance.  In time, with D(t) what half the square of the
difference of instants t apart is, by the variance, and h(t) the density of samples t
after a sample, that is

    1/12 + 2 (integral of D from 0 to 1/2) - 2 (integral of D (h - 1) from 1 on)

so all of it can be seen in pairs of samples but D below 1/2, which no two samples are
apart.  It has to be told from how D goes on.

fit_weight: what samples k apart see of a wave is Re phi^k, so weights a_k are wanted with
which the sum of a_k Re phi^k is S(f), for whatever a guest does: rectangular waves of all
periods and phases of exponential length.  Below 1/10 of the sampling rate that can be
met, between that and the rate roughly, and above it S is 1, as a_0.  It is better a
little too much than too little.

us_distance_weight: the same, where it is known how far apart samples are: weights of
D in pieces of a quarter.  A slow guest is seen as such by that D grows in proportion to
the distance, so that these are closer by far, below a third of the rate.

us_tick_weight: for bpf's ticks.  Their rate r is another one from time to time, at random
between half of the mean one and one and a half of it, and even until then; each counts by
the time that it stands for, in whole samples, and what is left over goes to the next.
So a wave is counted wrongly for as long as it keeps step: if its frequency f is n r, or
n r - m, for weights repeat as the left over does (that what is left over is told at
another part of a sample every few samples is left out here: it spreads the latter).  That, and what samples k apart see of
the wave, is computed below, for a vCPU that always has a host CPU, and for one that
seldom has, whose periods last for as many ticks each.  Of ticks there is nothing between
too slow to matter, below half of the rate, and too fast to be told from chance: between
these intervals are too wide, where no block says better.

Blocks need no fit: the variance of the sum of samples that follow each other, for each
of them.  What the guest does is in it, so that it is never below S but by a few
hundredths for rectangular waves; all are printed side by side.
"""
import cmath
import functools
import math

LAGS = 4
BLOCK = 8
LONG_BLOCK = 32
TOO_LITTLE = 10  # how much heavier that is than too much
RIDGE = 0.3      # large weights make noise
SINES = 0.15     # what they count

TICK_LEAST = 0.02     # of the variance: what changes of the period cost
TICK_RIDGE = 30
TICK_TOO_LITTLE = 30

GRID = 40             # points of time in a period
REACH = 16            # periods of which h is computed; behind them it is 1
PIECES = [0.5 + i / 4 for i in range(15)]
DISTANCE_RIDGE = 0.03
DISTANCE_TOO_LITTLE = 200


def phi(f):
    return cmath.exp(2j * math.pi * f) * math.sin(math.pi * f) / (math.pi * f)


def sampled(f):
    return ((1 + phi(f)) / (1 - phi(f))).real


def rectangular(period, duty, waves=60):
    """Both, of a wave that is on for this part of its period."""
    power = [(math.sin(math.pi * m * duty) / m) ** 2 for m in range(1, waves)]
    whole = sum(power)
    parts = [(m / period, p / whole) for m, p in enumerate(power, 1)]
    return (sum(w * sampled(g) for g, w in parts),
            [sum(w * (phi(g) ** k).real for g, w in parts) for k in range(LONG_BLOCK)]
            if waves == 60 else None)


def sine(f):
    return sampled(f), [(phi(f) ** k).real for k in range(BLOCK)]


def exponential(tau):
    """Both, of a process whose correlation falls as exp(-t / tau)."""
    step = tau * (math.exp(-0.5 / tau) - math.exp(-1.5 / tau))
    total = weight = 0
    for i in range(500):
        f = 1e-3 / tau * 10 ** (7 * i / 500)
        w = f / (1 + (2 * math.pi * f * tau) ** 2)
        total += w * (sampled(f) if f < 30 else 1)
        weight += w
    return total / weight, [step ** k for k in range(BLOCK)]


def solve(a, b):
    n = len(b)
    m = [row[:] + [x] for row, x in zip(a, b)]
    for i in range(n):
        best = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[best] = m[best], m[i]
        for r in range(n):
            if r != i:
                m[r] = [u - m[r][i] / m[i][i] * v for u, v in zip(m[r], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def fit(rows, counts, ridge=RIDGE, too_little=TOO_LITTLE):
    """Least squares of the relative error, again with other weights until they stay."""
    heavy = [1] * len(rows)
    for _ in range(60):
        a = [[ridge * (i == j) for j in range(LAGS)] for i in range(LAGS)]
        b = [0] * LAGS
        for (s, see), w, count in zip(rows, heavy, counts):
            w *= count
            z = [x / s for x in see[1:LAGS + 1]]
            for i in range(LAGS):
                b[i] += w * z[i] * (s - 1) / s
                for j in range(LAGS):
                    a[i][j] += w * z[i] * z[j]
        weights = [1] + solve(a, b)
        heavy = [too_little if sum(x * y for x, y in zip(weights, see)) < s else 1
                 for s, see in rows]
    return weights


def density():
    """h GRID steps apart, as masses: of these."""
    n = REACH * GRID + 1
    half = GRID // 2
    one = [1 / GRID] * (2 * half + 1)
    one[0] = one[-1] = 0.5 / GRID
    total, now = [0.0] * n, [0.0] * n
    now[0] = 1.0
    for _ in range(2 * REACH + 8):
        after = [0.0] * n
        for i, x in enumerate(now):
            if x:
                for j, y in enumerate(one):
                    if i + half + j < n:
                        after[i + half + j] += x * y
        now = after
        total = [x + y for x, y in zip(total, now)]
    total[-1] /= 2
    return total


def d_rectangular(period, duty):
    on = min(duty, 1 - duty) * period
    ret = []
    for i in range(REACH * GRID + 1):
        t = math.fmod(i / GRID, period)
        ret.append(min(t, period - t, on) / period / (duty * (1 - duty)))
    return ret


def by_time(d, h):
    even = [1 / GRID] * len(h)
    even[0] = even[-1] = 0.5 / GRID
    return 1 + 2 * sum((1 - x) * (y - z) for x, y, z in zip(d, h, even))


def by_piece(values, h):
    """Mean of these, and the number of pairs, in each piece of distances."""
    means, pairs = [], []
    for a, b in zip(PIECES, PIECES[1:]):
        w = h[round(a * GRID):round(b * GRID) + 1]
        w[0] /= 2
        w[-1] /= 2
        v = values[round(a * GRID):round(b * GRID) + 1]
        means.append(sum(x * y for x, y in zip(v, w)) / sum(w))
        pairs.append(sum(w))
    return means, pairs


def wobbling(period, duty, h):
    """Variance, and D by piece, of a wave whose period varies a little."""
    v, d = 0, [0.0] * (len(PIECES) - 1)
    for part in (0.97, 1, 1.03):
        v += rectangular(period * part, duty, 400)[0] / 3
        means = by_piece(d_rectangular(period * part, duty), h)[0]
        d = [x + y / 3 for x, y in zip(d, means)]
    return v, d


def fit_distances(h):
    rows = [wobbling(0.1 * 1.12 ** i, duty, h) for duty in (0.5, 0.3, 0.1, 0.05)
            for i in range(71)]
    for i in range(32):
        d = [1 - math.exp(-j / GRID / (0.05 * 1.3 ** i)) for j in range(len(h))]
        rows.append((by_time(d, h), by_piece(d, h)[0]))
    pairs = by_piece(h, h)[1]
    n = len(pairs)
    heavy = [1] * len(rows)
    for _ in range(200):
        a = [[DISTANCE_RIDGE * len(rows) / pairs[i] * (i == j) for j in range(n)]
             for i in range(n)]
        b = [0] * n
        for (v, d), w in zip(rows, heavy):
            z = [(x - 1) / v for x in d]
            for i in range(n):
                b[i] += w * z[i] * (v - 1) / v
                for j in range(n):
                    a[i][j] += w * z[i] * z[j]
        weights = solve(a, b)
        again = [DISTANCE_TOO_LITTLE if distances(weights, d) < v else 1
                 for v, d in rows]
        if again == heavy:
            break
        heavy = again
    noise = math.sqrt(sum(x * x / y for x, y in zip(weights, pairs)))
    return weights, noise


def distances(weights, d):
    return 1 + sum(w * (x - 1) for w, x in zip(weights, d))


def of_rate(r, seldom):
    """Density of rates, over the time that the vCPU runs."""
    return 1 / r / math.log(3) if seldom else 1


RATES = [0.5 + (i + 0.5) / 400 for i in range(400)]


def tick_lines(m, period):
    """Square of what repeats m times a left over, in the weights of ticks."""
    return period ** 2 if m == 0 else (math.sin(math.pi * m * period) / math.pi / m) ** 2


def tick_variance(f, seldom):
    """Of a wave, by that of independent samples with these weights."""
    squares = sum(of_rate(r, seldom) * r * (1 / r ** 2 + (1 / r % 1) * (1 - 1 / r % 1))
                  for r in RATES) / len(RATES)
    v = 0
    for m in range(-12, 13):
        g = abs(f + m)
        for n in range(max(1, math.ceil(g / 1.5)), int(g / 0.5) + 1):
            v += of_rate(g / n, seldom) * (g / n) ** 3 * tick_lines(m, n / g) / g
    return v / squares


@functools.lru_cache(None)
def tick_distances(seldom, step=0.01):
    """How far samples k apart are, as (distance, part of the pairs) by k."""
    lags = [{} for _ in range(LAGS + 1)]
    for i, r in enumerate(RATES):
        due, samples = (i * 0.618) % 1, []
        for j in range(int(150 * r)):
            due += 1 / r
            if due >= 1:
                samples.append((j / r, int(due)))
                due -= int(due)
        for k in range(1, LAGS + 1):
            for (t, w), (u, x) in zip(samples, samples[k:]):
                d = round((u - t) / step)
                lags[k][d] = lags[k].get(d, 0) + of_rate(r, seldom) * w * x
    return [[(d * step, x / sum(lag.values())) for d, x in lag.items()]
            for lag in lags[1:]]


@functools.lru_cache(None)
def ticked(f, seldom):
    """Both, of a wave."""
    if f > 8:
        return 1, [1] + [0] * LAGS
    return (tick_variance(f, seldom),
            [1] + [sum(x * math.cos(2 * math.pi * f * d) for d, x in lag)
                   for lag in tick_distances(seldom)])


def ticked_sum(waves, seldom):
    """Both, of waves (frequency, power)."""
    whole = sum(p for _, p in waves)
    v, see = 0, [0] * (LAGS + 1)
    for f, p in waves:
        a, b = ticked(round(f, 3 if f > 0.3 else 4), seldom)
        v += a * p / whole
        see = [x + y * p / whole for x, y in zip(see, b)]
    return max(v, TICK_LEAST), see


def ticked_wave(period, duty, seldom):
    return ticked_sum([(m / period / part, (math.sin(math.pi * m * duty) / m) ** 2)
                       for m in range(1, 60) for part in (0.96, 1, 1.04)], seldom)


def ticked_exponential(tau, seldom):
    waves = [1e-3 / tau * 10 ** (6 * i / 100) for i in range(100)]
    return ticked_sum([(max(f, 2e-4), f / (1 + (2 * math.pi * f * tau) ** 2))
                       for f in waves], seldom)


def fit_ticks():
    rows = [ticked_wave(60 / 1.12 ** i, duty, seldom) for seldom in (False, True)
            for duty in (0.5, 0.2, 0.05) for i in range(48)]
    rows += [ticked_exponential(0.1 * 1.3 ** i, seldom) for seldom in (False, True)
             for i in range(0, 26, 2)]
    return fit(rows, [1] * len(rows), TICK_RIDGE, TICK_TOO_LITTLE)


def compare_ticks(weights):
    print("cycle, part: by the fit for ticks; where the vCPU seldom runs (periods)")
    for cycle in (0.5, 0.7, 1, 1.4, 2, 3, 5, 7, 10, 20, 50):
        for duty in (0.1, 0.3, 0.6):
            two = []
            for seldom in (False, True):
                v, see = ticked_wave(cycle, duty, seldom)
                got = sum(a * b for a, b in zip(weights, see))
                two.append(math.sqrt(max(got, 0) / v))
            print(f"  {cycle:4}, {duty:4}: " + ", ".join(f"{x:.2f}" for x in two))


def block(size=BLOCK):
    return [1] + [2 * (1 - k / size) for k in range(1, size)]


def show(name, weights):
    print(name, "of the variance:", round(sum(weights), 4))
    print("  of half the squares of differences:", [round(-a, 4) for a in weights[1:]])


def compare(weights, by_distance, h):
    """Widths by all, by the honest one, of visits of some length in a cycle."""
    print("cycle, part: by the fit, by blocks of 8 and 32; by distances (periods)")
    for cycle in (0.7, 1, 1.3, 2, 3, 5, 7, 10, 14, 20, 50):
        for duty in (0.05, 0.1, 0.3, 0.6):
            s, see = rectangular(cycle, duty)
            three = [math.sqrt(sum(a * b for a, b in zip(w, see)) / s)
                     for w in (weights, block(), block(LONG_BLOCK))]
            v, d = wobbling(cycle, duty, h)
            time = math.sqrt(distances(by_distance, d) / v)
            print(f"  {cycle:4}, {duty:4}: " +
                  ", ".join(f"{x:.2f}" for x in three) + f"; {time:.2f}")


def main():
    rows = [rectangular(250 / 1.12 ** i, duty) for duty in (0.5, 0.2, 0.05)
            for i in range(62)]
    rows += [exponential(0.1 * 1.16 ** i) for i in range(0, 62, 2)]
    counts = [1] * len(rows)
    sines = [sine(0.004 * 1.12 ** i) for i in range(52)]
    weights = fit(rows + sines, counts + [SINES] * len(sines))
    show("fit_weight", weights)
    h = density()
    by_distance, noise = fit_distances(h)
    print("us_distance_weight of the variance:", round(1 - sum(by_distance), 4))
    print("  of half the squares of differences:", [round(x, 4) for x in by_distance])
    print("  standard error, independent samples:", round(noise, 2))
    compare(weights, by_distance, h)
    tick = fit_ticks()
    show("us_tick_weight", tick)
    compare_ticks(tick)


if __name__ == "__main__":
    main()
