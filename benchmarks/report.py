"""From outcomes to one table, the targets and a summary, in Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean, median
from typing import Any

import plan
from records import Outcome, Training

WORSE = 2.0
"""A mean loss is worth a mention when it is this many points above the peer's."""
DISTURBED = 0.9
"""A training that got less of a core than this was not alone, and its time is not to be trusted."""


@dataclass(frozen=True)
class Cell:
    """A data set and a variant: the repeats of one line of the table."""

    data: str
    variant: str
    outcomes: Sequence[Outcome]

    @property
    def name(self) -> str:
        """Both in words."""
        return f"{self.data} {self.variant}"

    def ours(self, value: Callable[[Training], float]) -> list[float]:
        """A value of our trainings."""
        return [value(outcome.ours) for outcome in self.outcomes]

    def peer(self, value: Callable[[Training], float]) -> list[float]:
        """A value of the peer's trainings; empty where ours ran alone."""
        return [value(outcome.peer) for outcome in self.outcomes if outcome.peer]

    @property
    def speedups(self) -> list[float]:
        """The peer's time divided by ours, for each repeat."""
        return [
            outcome.peer.seconds_per_100 / outcome.ours.seconds_per_100
            for outcome in self.outcomes
            if outcome.peer
        ]

    @property
    def speedup(self) -> float:
        """The median over repeats of pairs measured one right after the other."""
        return median(self.speedups)

    def difference(self, loss: Callable[[Training], float]) -> float:
        """Our mean loss minus the peer's, in points."""
        return fmean(self.ours(loss)) - fmean(self.peer(loss))


def seconds(training: Training) -> float:
    """Seconds of fit per 100 rules."""
    return training.seconds_per_100


def memory(training: Training) -> float:
    """Megabytes that fit needed at its peak."""
    return training.extra_mb


def rules(training: Training) -> float:
    """Rules that were learned."""
    return training.rules


def subset_loss(training: Training) -> float:
    """Subset 0/1 loss in percent."""
    return training.subset_loss


def hamming_loss(training: Training) -> float:
    """Hamming loss in percent."""
    return training.hamming_loss


def cells_of(outcomes: Sequence[Outcome]) -> list[Cell]:
    """Group outcomes, which come fold by fold; the first fold is in the order of the table."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.case.data, outcome.case.variant), []).append(outcome)
    return [Cell(data, variant, group) for (data, variant), group in groups.items()]


@dataclass(frozen=True)
class Verdict:
    """One target: how many cells reach it, the worst of them, and those that miss it."""

    target: str
    reached: int
    of: int
    worst: str
    missed: Sequence[str]


def verdicts(cells: Sequence[Cell]) -> Iterator[Verdict]:
    """Judge every target that some of the cells are about; all cells must have a peer."""
    for target in plan.SPEED_TARGETS:
        about = [c for c in cells if c.variant in target.variants and c.data in target.data]
        if about:
            missed = [c for c in about if c.speedup < target.factor]
            worst = min(about, key=lambda cell: cell.speedup)
            yield Verdict(
                f"{target.name}: at least {target.factor:g}x",
                len(about) - len(missed),
                len(about),
                f"{worst.speedup:.1f}x ({worst.name})",
                [f"{cell.name} {cell.speedup:.1f}x" for cell in missed],
            )
    label_wise = [cell.speedup for cell in cells if cell.variant == "label-wise"]
    if label_wise:
        yield mean_verdict("label-wise", label_wise, plan.LABEL_WISE_MEAN)
    yield mean_verdict("everything", [cell.speedup for cell in cells], plan.OVERALL_MEAN)
    yield from memory_verdict([cell for cell in cells if cell.data in plan.MEMORY_DATA])


def mean_verdict(name: str, speedups: Sequence[float], factor: float) -> Verdict:
    """Judge a geometric mean."""
    mean = geometric_mean(speedups)
    missed = [f"{name}, geometric mean {mean:.1f}x"] if mean < factor else []
    target = f"{name}: geometric mean at least {factor:g}x"
    return Verdict(target, 1 - len(missed), 1, f"{mean:.1f}x", missed)


def memory_verdict(cells: Sequence[Cell]) -> Iterator[Verdict]:
    """Judge our share of the peer's memory."""
    if not cells:
        return
    shares = {cell.name: median(cell.ours(memory)) / median(cell.peer(memory)) for cell in cells}
    worst = max(shares, key=lambda name: shares[name])
    missed = [f"{name} {share:.2f}" for name, share in shares.items() if share > plan.MEMORY_SHARE]
    yield Verdict(
        f"memory on {', '.join(plan.MEMORY_DATA)}: at most {plan.MEMORY_SHARE:g} of the peer's",
        len(shares) - len(missed),
        len(shares),
        f"{shares[worst]:.2f} ({worst})",
        missed,
    )


def markdown(title: str, about: Sequence[str], cells: Sequence[Cell]) -> Iterator[str]:
    """The lines of the report."""
    yield from (f"# {title}", "")
    for line in about:
        yield from (line, "")
    yield from table(cells)
    # A missing peer in some cells must not hide the comparison of the others.
    compared = [cell for cell in cells if cell.peer(seconds)]
    if compared:
        yield from ("", "## Targets", "")
        yield from targets(list(verdicts(compared)))
        yield from ("", "## Losses and remarks", "")
        yield from remarks(compared)


def table(cells: Sequence[Cell]) -> Iterator[str]:
    """One line per data set and variant."""
    yield (
        "| data | K | variant | rules | s per 100 rules: peer | ours | ratio "
        "| MB: peer | ours | Subset 0/1: peer | ours |"
    )
    yield "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for cell in cells:
        compared = bool(cell.peer(seconds))
        values = [
            cell.data,
            str(cell.outcomes[0].ours.labels),
            cell.variant,
            span(cell.ours(rules)),
            shown(cell.peer(seconds), median, ".3g"),
            shown(cell.ours(seconds), median, ".3g"),
            f"{cell.speedup:.1f}x" if compared else "-",
            shown(cell.peer(memory), median, ".1f"),
            shown(cell.ours(memory), median, ".1f"),
            shown(cell.peer(subset_loss), fmean, ".2f"),
            shown(cell.ours(subset_loss), fmean, ".2f"),
        ]
        yield f"| {' | '.join(values)} |"


def span(values: Sequence[float]) -> str:
    """The smallest and the largest, or the one that all of them are."""
    return "-".join(f"{value:.0f}" for value in sorted({min(values), max(values)}))


def shown(values: Sequence[float], average: Callable[[Sequence[float]], float], form: str) -> str:
    """An average as text, or a dash where there is nothing."""
    return format(average(values), form) if values else "-"


def targets(results: Sequence[Verdict]) -> Iterator[str]:
    """A table of targets, then what misses them."""
    yield "| target | reached | worst |"
    yield "|---|---|---|"
    for verdict in results:
        word = "yes" if not verdict.missed else "no"
        count = "" if verdict.of == 1 else f", {verdict.reached} of {verdict.of}"
        yield f"| {verdict.target} | {word}{count} | {verdict.worst} |"
    for verdict in results:
        if verdict.missed and verdict.of > 1:
            yield from ("", f'Short of "{verdict.target}": {"; ".join(verdict.missed)}.')


def remarks(cells: Sequence[Cell]) -> Iterator[str]:
    """Differences of losses, and whatever a reader should know about single cells."""
    for name, loss in (("Subset 0/1", subset_loss), ("Hamming", hamming_loss)):
        mean = fmean(cell.difference(loss) for cell in cells)
        yield f"- mean difference of {name} loss, ours minus the peer's, in points: {mean:+.2f}"
    worse = [
        f"{cell.name} {cell.difference(subset_loss):+.1f}"
        for cell in cells
        if cell.difference(subset_loss) > WORSE
    ]
    yield f"- Subset 0/1 loss more than {WORSE:g} points worse: {'; '.join(worse) or 'nowhere'}"
    early = [cell.name for cell in cells for o in cell.outcomes if stopped_early(o)]
    counted = [f"{name} ({early.count(name)})" for name in dict.fromkeys(early)]
    yield (
        "- the peer stopped before the planned number of rules, and ours was given its number "
        f"(repeats): {'; '.join(counted) or 'nowhere'}"
    )
    unequal = [cell.name for cell in cells for o in cell.outcomes if unequal_rules(o)]
    yield f"- ours learned fewer rules than the peer: {'; '.join(unequal) or 'nowhere'}"
    yield from disturbances([o for cell in cells for o in cell.outcomes])


def disturbances(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """How far to trust the times: processor time does not count what others did meanwhile."""
    pairs = [(outcome.ours, outcome.peer) for outcome in outcomes if outcome.peer]
    trainings = [training for pair in pairs for training in pair]
    disturbed = sum(t.cpu_seconds < DISTURBED * t.fit_seconds for t in trainings)
    yield (
        f"- trainings that got less than {DISTURBED:.0%} of a core, because something else ran on "
        f"the machine: {disturbed} of {len(trainings)}"
    )
    if all(training.threads == 1 for training in trainings):
        wall = geometric_mean(peer.fit_seconds / ours.fit_seconds for ours, peer in pairs)
        cpu = geometric_mean(peer.cpu_seconds / ours.cpu_seconds for ours, peer in pairs)
        yield f"- all pairs, geometric mean: {wall:.1f}x in time, {cpu:.1f}x in processor time"


def stopped_early(outcome: Outcome) -> bool:
    """Tell whether the peer learned fewer rules than planned."""
    return outcome.peer is not None and outcome.peer.rules < outcome.case.rules


def unequal_rules(outcome: Outcome) -> bool:
    """Tell whether the comparison is flawed: the models differ in size."""
    return outcome.peer is not None and outcome.peer.rules != outcome.ours.rules


def as_json(about: Sequence[str], cells: Sequence[Cell]) -> dict[str, Any]:
    """The same for programs: lines of the table, targets, and every single training."""
    compared = [cell for cell in cells if cell.peer(seconds)]
    return {
        "about": list(about),
        "table": [line(cell) for cell in cells],
        "targets": [vars(verdict) for verdict in verdicts(compared)] if compared else [],
        "trainings": [outcome.to_json() for cell in cells for outcome in cell.outcomes],
    }


def line(cell: Cell) -> dict[str, Any]:
    """One line of the table; the peer's values are absent where ours ran alone."""
    values: dict[str, Any] = {
        "data": cell.data,
        "labels": cell.outcomes[0].ours.labels,
        "variant": cell.variant,
        "repeats": len(cell.outcomes),
    }
    for who, value in (("peer", cell.peer), ("ours", cell.ours)):
        if value(seconds):
            values[who] = {
                "rules": median(value(rules)),
                "seconds_per_100_rules": median(value(seconds)),
                "memory_mb": median(value(memory)),
                "subset_loss": fmean(value(subset_loss)),
                "hamming_loss": fmean(value(hamming_loss)),
            }
    if cell.speedups:
        values["speedup"] = cell.speedup
        values["speedups"] = cell.speedups
    return values
