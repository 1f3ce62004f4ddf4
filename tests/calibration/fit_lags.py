#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Print the weights us_lag_weight of src/profile/interval.c.

Samples lie at random distances, uniform from 0.5 to 1.5 (the unit of time is the
sampling period).  What they make of a wave of frequency f in the share of something is
known: S(f) = Re (1 + phi) / (1 - phi) times the variance of independent samples, phi the
characteristic function of a distance.  What samples k apart see of it is Re phi^k.  So
weights a_k are wanted with which the sum of a_k Re phi^k is S(f), for whatever a guest
does: rectangular waves of all periods and phases of exponential length.  Below 1/10 of
the sampling rate that can be met, between that and the rate roughly, and above it S is
1, as a_0.  It is better a little too much than too little.

The second row needs no fit: the variance of the sum of BLOCK samples that follow each
other, for each of them.  What the guest does is in it, so that it is never below S but
by a few hundredths for rectangular waves; both are printed side by side.
"""
import cmath
import math

LAGS = 4
BLOCK = 8
TOO_LITTLE = 10  # how much heavier that is than too much
RIDGE = 0.3      # large weights make noise
SINES = 0.15     # what they count


def phi(f):
    return cmath.exp(2j * math.pi * f) * math.sin(math.pi * f) / (math.pi * f)


def sampled(f):
    return ((1 + phi(f)) / (1 - phi(f))).real


def rectangular(f, duty):
    """Both, of a wave that is on for this part of its period."""
    power = [(math.sin(math.pi * m * duty) / m) ** 2 for m in range(1, 60)]
    whole = sum(power)
    parts = [(f * m, p / whole) for m, p in enumerate(power, 1)]
    return (sum(w * sampled(g) for g, w in parts),
            [sum(w * (phi(g) ** k).real for g, w in parts) for k in range(BLOCK)])


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


def fit(rows, counts):
    """Least squares of the relative error, again with other weights until they stay."""
    heavy = [1] * len(rows)
    for _ in range(60):
        a = [[RIDGE * (i == j) for j in range(LAGS)] for i in range(LAGS)]
        b = [0] * LAGS
        for (s, see), w, count in zip(rows, heavy, counts):
            w *= count
            z = [x / s for x in see[1:LAGS + 1]]
            for i in range(LAGS):
                b[i] += w * z[i] * (s - 1) / s
                for j in range(LAGS):
                    a[i][j] += w * z[i] * z[j]
        weights = [1] + solve(a, b)
        heavy = [TOO_LITTLE if sum(x * y for x, y in zip(weights, see)) < s else 1
                 for s, see in rows]
    return weights


def block():
    return [1] + [2 * (1 - k / BLOCK) for k in range(1, BLOCK)]


def show(name, weights):
    print(name, "of the variance:", round(sum(weights), 4))
    print("  of half the squares of differences:", [round(-a, 4) for a in weights[1:]])


def compare(weights):
    """Widths by both, by the honest one, of visits of some length in a cycle."""
    print("cycle, part: by the fit, by blocks (periods)")
    for cycle in (1, 1.3, 2, 3, 5, 7, 10, 14, 20, 50):
        for duty in (0.05, 0.1, 0.3, 0.6):
            s, see = rectangular(1 / cycle, duty)
            both = [math.sqrt(sum(a * b for a, b in zip(w, see)) / s)
                    for w in (weights, block())]
            print(f"  {cycle:4}, {duty:4}: {both[0]:.2f}, {both[1]:.2f}")


def main():
    rows = [rectangular(0.004 * 1.12 ** i, duty) for duty in (0.5, 0.2, 0.05)
            for i in range(62)]
    rows += [exponential(0.1 * 1.16 ** i) for i in range(0, 62, 2)]
    counts = [1] * len(rows)
    sines = [sine(0.004 * 1.12 ** i) for i in range(52)]
    weights = fit(rows + sines, counts + [SINES] * len(sines))
    show("US_LAG_FIT", weights)
    show("US_LAG_BLOCK", block())
    print("BLOCK_ERROR", round(math.sqrt(sum(a * a for a in block()[1:])), 2))
    compare(weights)


if __name__ == "__main__":
    main()
