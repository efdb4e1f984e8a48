"""The paper's claims that one method's mean is below another's, judged by paired tests.

Where the order is not shown, other runs of the two methods may show it, or a contrary order may
vanish with another run in place of one side.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from sparsekm.studies.paper.method_rows import METHOD_ROWS
from sparsekm.studies.paper.paper_claims import PaperClaim
from sparsekm.studies.paper.settings import Setting
from sparsekm.studies.paper.study_values import StudyValues, runs_of
from sparsekm.studies.paper.versus_paper import ERROR, list_some, paired_below


def judge_order(claim: PaperClaim, setting: Setting, study: StudyValues) -> dict:
    """Test by pairs whether the left mean is below the right one."""
    sides = claim.left, claim.right
    left, right = (study.printed(setting, method, claim.metric) for method in sides)
    theirs = left - right
    left, right = (study.of_method(setting, method, claim.metric) for method in sides)
    if left is None or right is None:
        return {"theirs": theirs}
    mean, se, p_value = paired_below(left, right)
    against_table = theirs >= 0
    holds, vanishes = _other_orders(claim, setting, study)
    table = "The paper's own table says otherwise." if against_table else ""
    other = f"It holds with other runs: {holds}." if holds else ""
    contrary = f"With other runs the two do not differ: {vanishes}." if vanishes else ""
    return {
        "ours": mean,
        "se": se,
        "theirs": theirs,
        "p_value": p_value,
        # Not 1 - p: where the two are equal in all repetitions, neither is below the other.
        "contrary": paired_below(right, left)[2],
        "found": f"{table} {other}".strip(),
        "found_contrary": f"{table} {other or contrary}".strip(),
        "explained": bool(against_table or holds or vanishes),
    }


def _other_orders(claim: PaperClaim, setting: Setting, study: StudyValues) -> tuple[str, str]:
    """Name the runs with which an order holds, and those with which a contrary one vanishes.

    The latter also have to move the difference towards the claim. Tests are adjusted for their
    number (Bonferroni).
    """
    judged = tuple(study.judged.get(method, method) for method in (claim.left, claim.right))
    ran = {
        pair: [study.of_row(setting, one, claim.metric) for one in pair]
        for pair in _like_pairs(claim, judged)
    }
    pairs = {pair: values for pair, values in ran.items() if all(v is not None for v in values)}
    own = [study.of_row(setting, one, claim.metric) for one in judged]
    holds, vanishes = [], []
    for pair, values in pairs.items():
        p_value = paired_below(*values)[2]
        other = [one for one, before in zip(pair, judged, strict=True) if one != before]
        name = " beside ".join(METHOD_ROWS[one].title for one in other)
        if p_value * len(pairs) < ERROR:
            holds.append((p_value, name))
        elif paired_below(*values[::-1])[2] >= ERROR:
            moved = paired_below(values[0] - values[1], own[0] - own[1])[2]
            if moved * len(pairs) < ERROR:
                vanishes.append((moved, name))
    return tuple(list_some([name for _, name in sorted(found)]) for found in (holds, vanishes))


def _like_pairs(claim: PaperClaim, judged: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """List pairs of runs of the two methods, other than the judged one.

    One side is the judged row, or both vary in the same way.
    """
    sides = [
        [name, *(other for other in runs_of(method) if other != name)]
        for name, method in zip(judged, (claim.left, claim.right), strict=True)
    ]
    for left, right in product(*sides):
        n_judged = (left == judged[0]) + (right == judged[1])
        alike = METHOD_ROWS[left].varies and left.partition("_")[2] == right.partition("_")[2]
        if n_judged == 1 or (n_judged == 0 and alike):
            yield left, right
