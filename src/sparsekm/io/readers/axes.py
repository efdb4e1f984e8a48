"""What the axes of a table hold, judged by names, headings and forms of numbers.

`known_names.json` lists words, and regular expressions for the forms of names.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

_LOOKED_AT = 2000
_FEW_NAMES = 3
_FEWEST_STEPS = 8
_YEARS = 1600, 2100
_FEWEST_SHARING = 3
KNOWN = json.loads(Path(__file__).with_name("known_names.json").read_text(encoding="utf-8"))
_WORDS = {kind: frozenset(known.split()) for kind, known in KNOWN.items() if isinstance(known, str)}
_MEASURES = "|".join(map(re.escape, sorted(KNOWN["measures"], key=len, reverse=True)))
_MEASURE = re.compile(rf"(?<!\w)({_MEASURES})(?!\w)")
_MONTH = "(jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)"
_DATE = re.compile(rf"(?i)\d\d?[-./]{_MONTH}|{_MONTH}[-./]\d\d?|\d{{4}}-\d\d-\d\d( 00:00:00)?")
_FORMS = {
    axis: re.compile(rf"{form}|(?i:({'|'.join(_WORDS[f'{axis}_words'])})[ _.-]?[\d.]+.*)").fullmatch
    for axis, form in KNOWN["forms"].items()
}


_NAMED = "|".join(_WORDS["feature_words"] | _WORDS["sample_words"])


@lru_cache(2**17)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a heading in lower case, without a unit in parentheses."""
    bare = re.sub(r"\s*[(\[][^()\[\]]*[)\]]$", "", name) or name
    # CustomerID and ROI1Number have two words, and the gene C1QC has one.
    start = r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z\d])(?=[A-Z][a-z]{2})"
    parted = re.sub(start, " ", bare).replace("m/z", "mz")
    words = re.sub(r"[\W_]+", " ", parted.lower()).split()
    # sampleid has two words, too.
    return tuple(" ".join(re.sub(f"^({_NAMED})id$", r"\1 id", word) for word in words).split())


def _split_measure(name: str) -> tuple[str, str]:
    """Divide the name of a column into a measure, "" if there is none, and a sample."""
    plain = " ".join(re.sub(r"[^\w%+/#]|_", " ", name.lower()).split())
    before, *found = _MEASURE.split(plain, maxsplit=1)
    measure, after = found or ("", "")
    return measure, (before + after).strip(" %")


def find_measures(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of each measure, such as "lfq intensity", if samples have several."""
    split = {name: _split_measure(name) for name in names}
    counts = Counter(sample for _, sample in {*split.values()} if sample)
    columns: dict[str, list[str]] = {}
    for measure in (*KNOWN["measures"], ""):
        some = [name for name, (what, of) in split.items() if what == measure and counts[of] > 1]
        columns |= {measure: some} if some else {}
    return columns if sum(count > 1 for count in counts.values()) > 1 else {}


def share_measures(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of each measure that several columns have, and the other columns."""
    columns: dict[str, list[str]] = {}
    for name in names:
        measure, sample = _split_measure(name)
        # Without the name of a sample, it is a total.
        columns.setdefault(measure if sample else "", []).append(name)
    shared = {measure: some for measure, some in columns.items() if len(some) >= _FEWEST_SHARING}
    shared.pop("", None)
    rest = [name for name in names if not any(name in some for some in shared.values())]
    shared |= {"": rest} if rest else {}
    return shared if len(shared) > 1 else {}


def is_date(name: str) -> bool:
    """Tell whether a name is a date, as spreadsheets make of MARCH1 or SEPT2."""
    return _DATE.fullmatch(name) is not None


def is_heading(name: str, axis: str) -> bool:
    """Tell whether a heading is for names of an axis, "feature" or "sample"."""
    words, known = {*words_of(name)}, _WORDS[f"{axis}_words"]
    named = words & known
    if axis == "feature":
        named = {word for word in words if not known.isdisjoint((word, word.removesuffix("s")))}
        named |= words if words == {"id", "ref"} else set()
    return bool(named) and words <= named | _WORDS["id_words"]


def heading_vote(heading: str) -> int:
    """Tell which names a heading is for: 1 features, -1 samples, 0 unknown."""
    return is_heading(heading, "feature") - is_heading(heading, "sample")


def is_called(name: str) -> bool:
    """Tell whether a heading is for names of either axis, or for row numbers."""
    is_id = name.startswith("Unnamed: 0") or {*words_of(name)} <= _WORDS["id_words"]
    return bool(name) and (is_id or heading_vote(name) != 0)


def is_doubtful(name: str, is_whole: bool, *, of_features: bool) -> bool:
    """Tell whether a heading suggests that its numbers, perhaps all whole, are not measurements."""
    words = words_of(name)
    ends = {"".join(words[-1:]), "".join(words[-2:])}
    # "labels" are classes, and "thinness 5 to 9 years" is measured.
    ends |= {word.removesuffix("s") for word in words if len(words) == 1}
    known = _WORDS["doubtful"] | (_WORDS["doubtful_if_whole"] if is_whole else set())
    if _FORMS["sample" if of_features else "feature"](name):
        return False
    if of_features:
        known |= _WORDS["doubtful_of_features"]
        ends |= {*words} & _WORDS["doubtful_of_features"]
    # "Age 0 to 4" counts people.
    begins = bool(words) and f"{words[0]}_" in known and not re.search(r"\d", name)
    return bool(words) and (begins or not ends.isdisjoint(known))


def is_row_numbers(heading: str, names: Sequence[str]) -> bool:
    """Tell whether names are only row numbers, which software adds."""
    is_index = heading in ("", "X") or heading.startswith("Unnamed: 0")
    is_index |= {*words_of(heading)} <= _WORDS["id_words"]
    if not is_index or not all(map(str.isdecimal, names)):
        return False
    return any([*map(int, names)] == [*range(k, k + len(names))] for k in (0, 1)) and bool(names)


def annotating(header: Sequence[str]) -> set[str]:
    """Return the columns that annotate features, if the header has the first two of a program."""
    known = (program for program in KNOWN["programs"] if {*program[:2]} <= {*header})
    return {name for program in known for name in program}


def few_levels(values: Sequence[str]) -> bool:
    """Tell whether a column of text may hold classes: some values, all of them repeated often."""
    found = set(values) - {""}
    return 2 <= len(found) <= max(2, min(50, len(values) // 2))


def _name_vote(names: Sequence[str]) -> int:
    """Tell what names look like: 1 for features, -1 for samples, 0 for neither."""
    names = [name.strip() for name in names[:_LOOKED_AT] if name.strip()]
    if len({name.upper() for name in names} & _WORDS["symbols"]) >= _FEW_NAMES:
        return 1
    found = {axis: 2 * sum(map(bool, map(_FORMS[axis], names))) for axis in _FORMS}
    tokens = (re.split(r"[^a-z]+", name.lower()) for name in names)
    found["sample"] += 2 * sum(not _WORDS["sample_tokens"].isdisjoint(some) for some in tokens)
    if len(names) < _FEW_NAMES or max(found.values()) <= len(names):
        return 0
    return int(np.sign(found["feature"] - found["sample"]))


def names_features(heading: str, names: Sequence[object]) -> bool:
    """Tell whether a column names features by its heading, or by the forms of its names."""
    return is_heading(heading, "feature") or _name_vote([*map(str, dict.fromkeys(names))]) > 0


def is_scale(names: Sequence[str]) -> bool:
    """Tell whether names are the steps of a scale, such as wavelengths, and not counts or ids."""
    try:
        # R writes X400 for a column called 400.
        steps = np.diff([float(name.removeprefix("X")) for name in names])
    except ValueError:
        return False
    if len(steps) < _FEWEST_STEPS or not (steps.min() > 0 or steps.max() < 0):
        return False
    is_count = (steps == 1).all() and float(names[0].removeprefix("X")) in (0, 1)
    return not is_count and bool((steps % 1).any() or np.ptp(steps) <= 0.02 * abs(steps[0]))


def are_years(names: Sequence[str]) -> bool:
    """Tell whether names are consecutive years."""
    if not all(map(str.isdecimal, names)):
        return False
    years = [*map(int, names)]
    steps = {after - before for before, after in pairwise(years)}
    return steps in ({1}, {-1}) and all(_YEARS[0] <= year <= _YEARS[1] for year in years)


def count_stems(names: Sequence[str]) -> int:
    """Count the words that most names repeat with numbers, as those of replicates do; 0 if few."""
    counts = Counter(re.sub(r"\d+$", "", name) for name in names if name[-1:].isdecimal())
    sizes = Counter(count for count in counts.values() if count > 1)
    size, n_words = sizes.most_common(1)[0] if sizes else (0, 0)
    return n_words if 2 * size * n_words > len(names) else 0


def find_orientation(
    heading: str,
    lines: Sequence[str],
    columns: Sequence[str],
    texts: tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]],
) -> tuple[bool | None, dict[bool, list[str]]]:
    """Decide whether lines hold features (None if uncertain), and list the reasons for each.

    `lines` are the names of the lines, [] if they are only numbered, and `columns` the headings.
    `texts` are the columns of text and the lines of text. Headings and forms of names have one vote
    each. The content of the table decides only if names say nothing; if it contradicts a single
    vote, the result is uncertain.
    """
    about = {name: heading_vote(name) for name in texts[0]}
    known, is_known = {*about.values()} - {0}, not heading or is_called(heading)
    # Ids may count in even steps. Rows of years are often samples, and columns of years features.
    is_scaled = is_known and heading_vote(heading) >= 0 and not are_years(lines)
    scales = (is_scaled and is_scale(lines)) - is_scale(columns)
    first = next((name for name in about if about[name]), "")
    kinds, above = (
        next((name for name in some if not about.get(name) and few_levels(some[name])), None)
        for some in texts
    )
    n_stems = count_stems(columns)
    names = [
        (heading_vote(heading), f"the heading {heading!r}"),
        (_name_vote(lines), f"row names such as {[*lines, ''][0]!r}"),
        (-_name_vote(columns), f"column names such as {[*columns, ''][0]!r}"),
        (scales, f"the numbers that name {'rows' if scales > 0 else 'columns'}"),
        (known.pop() if len(known) == 1 else 0, f"the column {first!r}"),
        (2 * bool(annotating([heading, *about, *columns])), "the header"),
    ]
    content = [
        # Items of a questionnaire may have names like replicates.
        (-1 * (not lines and n_stems < 2), "rows without names"),
        # Species have classes too, at numbered sites.
        (-1 * (kinds is not None and not n_stems), f"the classes in {kinds!r}"),
        # Units are repeated, like classes of samples.
        (1 * (above not in (None, "unit", "units")), f"the classes in the row {above!r}"),
    ]
    reasons = {
        turn: [reason for vote, reason in names + content if vote * sign > 0]
        for turn, sign in ((True, 1), (False, -1))
    }
    signs = [{np.sign(vote) for vote, _ in some if vote} for some in (names, content)]
    total = sum(vote for vote, _ in names)
    if not signs[0]:
        return (False if signs[1] == {-1} else None), reasons
    is_sure = len(signs[0]) == 1 and -np.sign(total) not in signs[1]
    return (total > 0 if is_sure or abs(total) > 1 else None), reasons
