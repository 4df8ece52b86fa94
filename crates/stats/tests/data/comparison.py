"""Writes comparison.tsv, the vectors of tests/comparison.rs: python3 comparison.py > comparison.tsv

Made with SciPy 1.17.1 and Python 3.11. Each p is SciPy's; each bound of a shift is found by asking
SciPy's test about every shift that can have an answer of its own: each difference, and between them.
"""
import itertools
import math

import numpy as np
from scipy import stats

LEVEL = 0.05


def exact(a, b):
    if len(set(a) | set(b)) == len(a) + len(b):
        return stats.mannwhitneyu(a, b, method="exact").pvalue
    method = stats.PermutationMethod(n_resamples=math.inf, batch=20000)
    return min(1.0, stats.mannwhitneyu(a, b, method=method).pvalue)


def normal(a, b):
    return stats.mannwhitneyu(a, b, method="asymptotic").pvalue


def shift(a, b, test, points):
    """The median difference, and the hull of all shifts that are not rejected."""
    all_differences = sorted(y - x for x in a for y in b)
    differences = sorted(set(all_differences))
    held = []
    cells = [(differences[0] - 1, None, differences[0])]
    for low, high in itertools.pairwise(differences):
        if points:
            cells.append((low, low, low))
        cells.append(((low + high) / 2, low, high))
    if points:
        cells.append((differences[-1],) * 3)
    cells.append((differences[-1] + 1, differences[-1], None))
    for at, low, high in cells:
        if test(a, [y - at for y in b]) > LEVEL:
            held += [low, high]
    assert None not in held
    p = test(a, b)
    lower, upper = min(held), max(held)
    if p > LEVEL:
        lower, upper = min(lower, 0.0), max(upper, 0.0)
    else:
        assert lower > 0 or upper < 0 or 0 in (lower, upper), (a, b, p, lower, upper)
    return float(np.median(all_differences)), lower, upper, p


def line(kind, *parts):
    words = [",".join(repr(float(v)) for v in np.atleast_1d(part)) for part in parts]
    print("\t".join([kind, *words]))


random = np.random.default_rng(20261124)
# Multiples of 1/64 are exact in floats, so that equal differences are equal.
grid = lambda values: [float(v) for v in np.round(np.asarray(values) * 64) / 64]


def distinct(sizes, scale, move):
    while True:
        a = grid(random.normal(900, scale, sizes[0]))
        b = grid(random.normal(900 + move, scale, sizes[1]))
        if len(set(a) | set(b)) == sum(sizes):
            return a, b


for sizes in [(4, 4), (3, 5), (5, 5), (2, 8), (8, 8), (6, 11), (12, 12), (20, 20), (7, 20)]:
    for move in [0, 3, 15]:
        a, b = distinct(sizes, 9, move)
        line("rank", a, b, exact(a, b))
        line("shift", a, b, *shift(a, b, exact, False))
for sizes in [(4, 4), (3, 5), (5, 5), (6, 6), (4, 7)]:
    for levels, move in [(3, 0), (3, 1), (4, 3), (8, 0), (8, 5)]:
        a = [float(v) for v in random.integers(0, levels, sizes[0])]
        b = [float(v + move) for v in random.integers(0, levels, sizes[1])]
        line("rank", a, b, exact(a, b))
        line("shift", a, b, *shift(a, b, exact, True))
for sizes in [(21, 20), (30, 25), (6, 90)]:
    for levels, move in [(12, 0), (12, 3), (4000, 0), (4000, 900)]:
        a = [float(v) for v in random.integers(0, levels, sizes[0])]
        b = [float(v + move) for v in random.integers(0, levels, sizes[1])]
        line("rank", a, b, normal(a, b))
        line("shift", a, b, *shift(a, b, normal, True))
for sizes in [(2, 2), (2, 3), (3, 3), (3, 4), (2, 7), (8, 8)]:
    for move in [0, 20, 200]:
        a = list(random.normal(900, 9, sizes[0]))
        b = list(random.normal(900 + move, 30, sizes[1]))
        found = stats.ttest_ind(b, a, equal_var=False)
        low, high = found.confidence_interval(1 - LEVEL)
        line("welch", a, b, found.statistic, found.df, found.pvalue, low, high)
        na, nb = sizes
        if na + nb > 2:
            pooled = math.sqrt(((na - 1) * np.var(a, ddof=1) + (nb - 1) * np.var(b, ddof=1)) / (na + nb - 2))
            g = (np.mean(b) - np.mean(a)) / pooled * (1 - 3 / (4 * (na + nb - 2) - 1))
            line("hedges", a, b, g)
for _ in range(6):
    a = [float(v) for v in random.integers(0, 9, 7)]
    b = [float(v) for v in random.integers(0, 9, 5)]
    line("superiority", a, b, stats.mannwhitneyu(b, a).statistic)
for degrees in [1, 1.3, 2, 2.94, 3, 7.5, 29, 120.4]:
    for level in [0.1, 0.05, 0.01]:
        line("student", level, degrees, stats.t.ppf(1 - level / 2, degrees))
for count in [2, 3, 4, 5, 6, 7, 8, 9, 12, 20, 31, 100, 999]:
    for level in [0.1, 0.05, 0.01]:
        outer = 0
        while stats.binom.cdf(outer, count, 0.5) <= level / 2:
            outer += 1
        line("median", level, count, outer)
for count in [1, 2, 5, 9]:
    p = list(random.random(count) ** 3)
    order = np.argsort(p)
    corrected = np.empty(count)
    corrected[order] = np.minimum(1, np.maximum.accumulate(np.sort(p) * (count - np.arange(count))))
    line("holm", p, corrected)
