# SPDX-License-Identifier: Apache-2.0
"""A second implementation of the decision, written from docs/clock.md and sharing no line with the first: what was
asked (`design`) and raw units in, decisions out.  Standard library only.

Units: a list of [group, arm, workload, calls, wall_ns, null_ns, cpu_ns, gated, redrawn, census, regime]; in situ
another one, the kernel's own share, which no decision looks at."""
import functools
import math
from fractions import Fraction

LEAST_MARGIN = 0.00995033085316808  # ln 1.01
SAME_BAND = 0.0198026272961797  # ln 1.02
REGRET = 0.0487901641694320  # ln 1.05
INFINITY = math.inf


def median(values):
    ordered = sorted(values)
    if not ordered:
        return math.nan
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else 0.5 * (ordered[half] + ordered[half - 1])


def standard_error(values):
    if len(values) < 2:
        return 0.0
    centre = median(values)
    return 1.2533 * 1.4826 * median([abs(v - centre) for v in values]) / math.sqrt(float(len(values)))


def interval(values, alpha):
    n, k, tail = len(values), -1, 0
    while k + 1 < n - (k + 1):
        tail += math.comb(n, k + 1)
        if not Fraction(2 * tail, 2**n) <= alpha:
            break
        k += 1
    if k < 0:
        return -INFINITY, INFINITY
    ordered = sorted(values)
    return ordered[k], ordered[n - 1 - k]


@functools.lru_cache(maxsize=None)
def boundaries(alpha, looks=4):
    """(groups, wins) of the group-sequential exact binomial test, by counting sign patterns."""
    alpha = Fraction(alpha)
    first = 1
    while Fraction(1, 2**first) > alpha / 2:
        first += 1
    last = max(30, 2 * first)
    times = [first]
    for k in range(1, looks):
        share = 1.0 if k == looks - 1 else k * 9.0 / (11.0 * (looks - 1))
        times.append(max(times[-1] + 1, first + math.floor(share * (last - first) + 0.5)))
    alive, groups, spent, out = {0: Fraction(1)}, 0, Fraction(0), []
    for k, time in enumerate(times):
        for _ in range(time - groups):
            after = {}
            for wins, p in alive.items():
                after[wins] = after.get(wins, 0) + p / 2
                after[wins + 1] = after.get(wins + 1, 0) + p / 2
            alive = after
        groups = time
        allowed = (Fraction(1, 2) + Fraction(k, 2 * (looks - 1))) * alpha
        wins = time + 1
        while wins > time // 2 + 1 and spent + sum(p for w, p in alive.items() if w >= wins - 1) <= allowed:
            wins -= 1
        if wins > time:
            continue
        spent += sum(p for w, p in alive.items() if w >= wins)
        alive = {w: p for w, p in alive.items() if w < wins}
        out.append((time, wins))
    return out


@functools.lru_cache(maxsize=None)
def rare_losses(share, alpha, looks=5):
    """(groups, losses allowed): passed with probability alpha at most where `share` of the groups are lost."""
    if not (0 < share < 1):
        return []
    share, alpha = Fraction(share), Fraction(alpha)
    alive, groups, spent, out = {0: Fraction(1)}, 0, Fraction(0), []  # by losses
    for k in range(looks):
        allowed = (Fraction(1, 2) + Fraction(k, 2 * (looks - 1))) * alpha
        while True:
            after = {}
            for losses, p in alive.items():
                after[losses] = after.get(losses, 0) + p * (1 - share)
                after[losses + 1] = after.get(losses + 1, 0) + p * share
            alive, groups = after, groups + 1
            crossing = sum(p for losses, p in alive.items() if losses <= k)
            if spent + crossing <= allowed:
                break
        spent += crossing
        alive = {losses: p for losses, p in alive.items() if losses > k}
        out.append((groups, k))
    return out


class Arm:
    def __init__(self):
        self.shared, self.gated, self.regime = [], [], -1

    def gated_counts(self):
        if not self.gated or not self.shared:
            return not self.shared
        return median(self.gated) - 2 * standard_error(self.gated) > median(self.shared)

    def seconds(self):
        return median(self.gated if self.gated_counts() else self.shared)


def table(units, census):
    groups = {}
    for group, arm, workload, calls, wall, null, _, gated, redrawn, short, regime in units:
        if redrawn or short != census:
            continue
        one = groups.setdefault(group, {}).setdefault(workload, {}).setdefault(arm, Arm())
        value = max(float(wall - null), 1.0) / max(calls, 1) * 1e-9
        (one.gated if gated else one.shared).append(value)
        one.regime = regime
    return dict(sorted(groups.items()))


def paired(a, b):
    return median([math.log(x / y) for x, y in zip(a, b)])


def log_ratio(a, b):
    gated = a.gated_counts()
    if gated == b.gated_counts():
        of_a, of_b = (a.gated, b.gated) if gated else (a.shared, b.shared)
        if len(of_a) == len(of_b):
            return paired(of_a, of_b)
    return math.log(a.seconds() / b.seconds())


def shared_log_ratio(a, b):
    if len(a.shared) == len(b.shared):
        return paired(a.shared, b.shared)
    return math.log(median(a.shared) / median(b.shared))


class Decider:
    def __init__(self, units, design):
        units = [list(u) + [False] * (10 - len(u)) for u in units]
        units = [(u + [-1])[:11] for u in units]
        self.design = design
        self.groups, self.short = table(units, False), table(units, True)
        self.redrawn = len({u[0] for u in units if u[8] and not u[9]})
        self.alpha = design["alpha"] / max(1, design.get("comparisons", 0), len(design["references"]))
        self.looks = [look for look in boundaries(self.alpha) if look[0] <= design["most_groups"]]
        self.headline = design["workloads"][0]
        self.witness = self.ratios(self.headline, design["witness"], design["witness_copy"])
        self.planted = self.ratios(self.headline, design["planted"], design["witness"])
        self.copy = self.ratios(self.headline, design["copy"], design["winner"])
        self.control_due = bool(design["planted"]) and not design["control_found_before"]

    def ratios(self, workload, slow, fast):
        out = []
        for group in self.groups.values():
            arms = group.get(workload, {})
            if slow in arms and fast in arms:
                out.append(log_ratio(arms[slow], arms[fast]))
        return out

    def margin(self, groups):
        control = self.witness or self.copy
        return max(self.design["asked_margin"], 2 * standard_error(control[:groups]), LEAST_MARGIN)

    def found(self, ratios, threshold):
        return any(n <= len(ratios) and sum(r > threshold for r in ratios[:n]) >= wins for n, wins in self.looks)

    def can_still(self, values, threshold):
        wins = sum(v > threshold for v in values)
        return any(n > len(values) and wins + n - len(values) >= needed for n, needed in self.looks)

    def resolution(self, n, wins):
        if not self.control_due:
            return 0.0
        seen = self.planted[:n]
        if self.found(seen, 0.0):
            return 0.0
        if len(seen) < n:
            return INFINITY
        return math.log1p(self.design["plant"]) - sorted(seen, reverse=True)[wins - 1]

    @staticmethod
    def worst_regret(ratios):
        regret = sorted((-r for r in ratios), reverse=True)
        if len(regret) < 2:
            return -INFINITY
        return regret[1 if len(regret) < 10 else len(regret) // 5]

    def at_look(self, n, wins, ratios, copies, margin, sharp):
        def above(values, threshold):
            return sum(v > threshold for v in values[:n]) >= wins

        opposite = [-r for r in ratios]
        if above(ratios, margin):
            bad = max(self.worst_regret(ratios[:n]), self.worst_regret(copies[:n]))
            return ("FASTER", True) if bad < REGRET else ("UNSTABLE", False)
        if above(opposite, margin):
            return "SLOWER", True
        if sharp and above(ratios, -SAME_BAND) and above(opposite, -SAME_BAND):
            return "SAME", True
        still = self.can_still
        open_ = (still(ratios[:n], margin) or still(opposite[:n], margin) or
                 (still(ratios[:n], -SAME_BAND) and still(opposite[:n], -SAME_BAND)))
        return "UNDECIDED", not open_

    def compare(self, reference, workload):
        d = self.design
        ratios = self.ratios(workload, reference, d["winner"])
        copies = self.ratios(workload, reference, d["copy"])
        out = {"against": reference, "workload": workload, "decision": "UNDECIDED", "value": None, "low": 0.0,
               "high": 0.0, "reproduction": {"low": 0.0, "high": 0.0}, "groups": len(ratios), "redrawn": self.redrawn,
               "margin": self.margin(len(ratios)), "alpha": self.alpha, "group_log_ratios": ratios, "restarts": 0,
               "bad_restarts": 0, "regimes": []}
        if not ratios:
            return out
        kind, final = "UNDECIDED", False
        for n, wins in self.looks:
            if n > len(ratios) or final:
                break
            resolution = self.resolution(n, wins)
            out["margin"] = max(self.margin(n), resolution)
            kind, final = self.at_look(n, wins, ratios, copies, out["margin"], resolution <= 0)
            if kind == "UNDECIDED" and resolution > 0:
                final = False
        out["decision"] = kind
        low, high = interval(ratios, self.alpha)
        if math.isinf(low):
            return out
        middle, between = median(ratios), 1.96 * d["between_runs"]
        out["low"], out["high"] = math.exp(low), math.exp(high)
        below, above = middle - low, high - middle
        again = (high - low) / 2 if d.get("second_run", False) else 0.0
        out["reproduction"] = {"low": math.exp(middle - math.sqrt(below * below + again * again + between * between)),
                               "high": math.exp(middle + math.sqrt(above * above + again * again + between * between))}
        if kind in ("FASTER", "SLOWER", "SAME"):
            out["value"] = math.exp(middle)
        return out

    def offset(self, reference, beside, workload):
        three = (reference, beside, self.design["winner"])
        full = [g[workload] for g in self.groups.values() if all(a in g.get(workload, {}) for a in three)]
        too_much = median([shared_log_ratio(g[reference], g[three[2]]) - log_ratio(g[reference], g[three[2]]) for g in full])
        return median([shared_log_ratio(g[reference], g[beside]) for g in full]) - max(0.0, too_much)

    def short_groups(self, workload, mixture):
        """(the winner, the name of the arm beside it, that arm) of each."""
        for group in self.short.values():
            arms = group.get(workload, {})
            beside = sorted(name for name in arms if name != self.design["winner"])
            if self.design["winner"] in arms and beside:
                winner = arms[self.design["winner"]]
                if (winner.regime < 0) == mixture:
                    yield winner, beside[0], arms[beside[0]]

    def restarts(self, reference, workload):
        """ln of the reference's time over the winner's by restart with the mixture of values, full groups first."""
        d, out, known = self.design, [], {}
        for group in self.groups.values():
            arms = group.get(workload, {})
            if reference in arms and d["winner"] in arms:
                out.append(min(log_ratio(arms[reference], arms[name]) for name in (d["winner"], d["copy"]) if name in arms))
        for winner, name, arm in self.short_groups(workload, True):
            if name not in known:
                known[name] = self.offset(reference, name, workload)
            out.append(known[name] + shared_log_ratio(arm, winner))
        return out

    def fastest_reference(self, workload):
        best, name = INFINITY, None
        for reference in self.design["references"]:
            seconds = [g[workload][reference].seconds() for g in self.groups.values() if reference in g.get(workload, {})]
            if seconds and median(seconds) < best:
                best, name = median(seconds), reference
        return name

    def ask_for_regret(self, out):
        rare = rare_losses(self.design["bad_share"], self.alpha)
        if out["decision"] != "FASTER" or not rare:
            return
        bad = [not ratio > -REGRET for ratio in self.restarts(out["against"], out["workload"])]
        out["restarts"], out["bad_restarts"] = len(bad), sum(bad)
        if any(n <= len(bad) and sum(bad[:n]) <= allowed for n, allowed in rare):
            self.ask_each_regime(out)
            return
        more = any(n > len(bad) and sum(bad) <= allowed for n, allowed in rare)
        out["decision"], out["value"] = "UNDECIDED" if more else "UNSTABLE", None

    def ask_each_regime(self, out):
        reference, workload = out["against"], out["workload"]
        if reference != self.fastest_reference(workload):
            return
        for number, values in enumerate(self.design.get("regimes", [])):
            of = [self.offset(reference, reference, workload) + shared_log_ratio(arm, winner)
                  for winner, name, arm in self.short_groups(workload, False) if winner.regime == number and name == reference]
            lost = sum(not ratio > -REGRET for ratio in of)
            out["regimes"].append({"values": values, "times": math.exp(median(of)) if of else None,
                                   "restarts": len(of), "bad_restarts": lost})
            if lost == len(of):
                if lost >= 3:
                    out["decision"], out["value"] = "UNSTABLE", None
                elif out["decision"] == "FASTER":
                    out["decision"], out["value"] = "UNDECIDED", None

    def decisions(self):
        out = []
        for reference in self.design["references"]:
            of_reference = [self.compare(reference, w) for w in self.design["workloads"]]
            slower = any(one["decision"] == "SLOWER" for one in of_reference)
            unmeasured = any(one["groups"] == 0 for one in of_reference)
            for one in of_reference:
                if one["decision"] in ("FASTER", "SAME") and unmeasured:
                    one["decision"], one["value"] = "UNDECIDED", None
                elif one["decision"] == "FASTER" and slower:
                    one["decision"], one["value"] = "UNDECIDED", None
                else:
                    self.ask_for_regret(one)
            out += of_reference
        told = False
        for same in (self.copy, self.witness):
            margin = self.margin(len(same))
            told = told or self.found(same, margin) or self.found([-s for s in same], margin)
        half = -math.log1p(self.design["plant"] / 2)
        blind = self.control_due and self.found([-p for p in self.planted], half)
        if told or blind:
            for one in out:
                one["decision"], one["value"] = "UNDECIDED", None
        return out


def decide(units, design):
    return Decider(units, design).decisions()
