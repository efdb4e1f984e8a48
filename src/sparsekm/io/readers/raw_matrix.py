"""A user's matrix on the way to ``normalised.h5ad``, in blocks of rows: checks, description."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse, vstack

from sparsekm.cluster.description import OF_SAMPLES, Description
from sparsekm.cluster.matrices.dense_parts import as_dense
from sparsekm.io.input_error import is_storable
from sparsekm.io.known_classes import UNKNOWN
from sparsekm.io.readers.axes import is_date
from sparsekm.io.readers.messages import refusal, say, suggest
from sparsekm.io.table_settings import short

CELLS_AT_ONCE = 2**22
"""Cells of a block, whether or not they are stored: 16 MB as an array of float32."""

Block = np.ndarray | csr_array
Change = Callable[[Block, slice], Block]

# Bytes of the largest matrix that is read as a whole, or in blocks of rows; others are refused.
HELD_LIMIT, STREAMED_LIMIT = 16 * 2**30, 2**40
_SHOWN = 3  # samples and features of a preview
_MOST_CLASSES = 8  # of a summary
_TURNED = "--no-transpose", "samples"
MIN_SAMPLES = 3  # the fewest that can be clustered
MIN_LABELS = 2  # samples with a known class: the comparison needs a pair
DUPLICATES = ("mean", "sum", "max", "first")  # how features of the same name may be merged
_SMALLEST_COUNT = 30
# A name such as "Unknown", which more features have, names none of them, unless a setting says how
# to merge.
_MOST_MERGED = 20
# Texts that mean a missing class or group, like None and NaN.
_MISSING_LABELS = {"", "NA", "NaN", "nan", "N/A", "n/a", "#N/A"}
# As the least value of a feature, these stand for a missing one.
_SENTINELS = (-99, -999, -9999, -99999)


@dataclass(frozen=True)
class Settings:
    """How a matrix is to be read; see `sparsekm.io.table_settings`."""

    labels: str | None = None
    layer: str | None = None
    groups: str | None = None
    samples: str | None = None
    ignore: Sequence[str] = ()
    keep: Sequence[str] = ()
    transpose: bool | str = "auto"
    decimal: str = "auto"
    missing_values: Sequence[object] = ()
    duplicates: str | None = None
    annotate: Sequence[str] = ()
    weights: str | None = None
    batch: str | None = None
    # The features of a run, if only these are needed, and the names in its settings, which another
    # table may lack.
    wanted: frozenset[str] = frozenset()
    inherited: frozenset[str] = frozenset()

    @property
    def named(self) -> dict[str, str]:
        """The names of columns that are not measured, by setting."""
        others = {f"annotate[{at}]": name for at, name in enumerate(self.annotate)}
        known = {key: vars(self).get(key) for key in (*OF_SAMPLES, "samples")} | others
        return {key: name for key, name in known.items() if name is not None}

    @property
    def missing_numbers(self) -> list[float]:
        """The numbers, such as -999, that stand for missing values."""
        words = pd.Series([*map(str, self.missing_values)], dtype=object)
        return pd.to_numeric(words, errors="coerce").dropna().tolist()


@dataclass
class RawMatrix:
    """A checked float32 matrix of n samples and p features, and a description of them.

    It need not fit into memory. `read` returns an iterator over consecutive rows, all arrays or all
    sparse, in parts of any height; NaN is a missing value. `changes` are applied to each block with
    its rows. They must treat every row separately and keep the number of stored values.
    """

    shape: tuple[int, int]
    read: Callable[[], Iterable[Block]]
    # (p,), float64: subtracted before rounding to float32, so that a feature such as 1e9 + noise
    # keeps its noise. Zero if the file contains float32, or the matrix is sparse.
    offset: np.ndarray
    about: Description = field(default_factory=Description)
    n_stored: np.ndarray | None = None  # (p,): the values that a sparse matrix stores
    changes: tuple[Change, ...] = ()
    lines: str | None = None  # what the lines of a table hold: "samples" or "features"
    # Remarks for the user about guesses, changes and omissions, with the settings that override
    # them.
    remarks: list[str] = field(default_factory=list)
    # The samples that lacked too many values, and the samples with imputed values, with a count.
    excluded: Sequence[str] = ()
    filled: Sequence[str] = ()

    @classmethod
    def of(cls, X: Block, offset: np.ndarray | None = None, **known: Any) -> RawMatrix:
        """Return a matrix that is in memory."""
        counts = np.bincount(X.indices, minlength=X.shape[1]) if issparse(X) else None
        offset = np.zeros(X.shape[1]) if offset is None else offset
        return cls(X.shape, lambda: [X], offset, n_stored=counts, **known)

    @property
    def is_sparse(self) -> bool:
        """Whether blocks are sparse, in canonical format."""
        return self.n_stored is not None

    @property
    def sample_names(self) -> Sequence[str]:
        """The names of samples, or their numbers."""
        return self.about.samples or [f"sample {at + 1}" for at in range(self.shape[0])]

    def blocks(self, height: int | None = None) -> Iterator[tuple[slice, Block]]:
        """Yield the rows of blocks of equal height, by default `CELLS_AT_ONCE`, and the blocks."""
        height = height or max(1, CELLS_AT_ONCE // self.shape[1])
        start = 0
        for block in _cut(self.read(), height):
            rows = slice(start, start + block.shape[0])
            start = rows.stop
            for change in self.changes:
                block = change(block, rows)
            yield rows, block

    def change(self, change: Change, **known: Any) -> RawMatrix:
        """Return the matrix with a change applied to its blocks, and a new description."""
        return replace(self, changes=(*self.changes, change), **known)

    def collect(self) -> Block:
        """Return the whole matrix, less `offset`."""
        return _join([block for _, block in self.blocks()])

    def select(self, features: np.ndarray) -> RawMatrix:
        """Return some of the features, by index, ascending."""
        return self.change(
            lambda block, rows: block[:, features],
            shape=(self.shape[0], len(features)),
            offset=self.offset[features],
            n_stored=None if self.n_stored is None else self.n_stored[features],
            about=self.about.select(features),
        )

    def take(self, X: np.ndarray, rows: np.ndarray, features: np.ndarray) -> RawMatrix:
        """Return some samples and features, by index, with these values in memory."""
        part = self.select(features)
        known = {"shape": X.shape, "read": lambda: [X], "changes": ()}
        return replace(part, about=part.about.take(rows), **known)

    def summary(self, n_dropped: int = 0) -> list[str]:
        """Describe the matrix in a few lines, without the constant features that are dropped."""
        (n, p), about = self.shape, self.about
        told = [f"{n:,} samples x {p - n_dropped:,} features"]
        for what, names in (("samples", about.samples), ("features", about.features)):
            ends = "" if names is None else f"'{short(names[0])}' ... '{short(names[-1])}'"
            told.append(f"  {what}: {ends or 'without names'}")
        if self.lines is not None:
            flag, other = ("--transpose", "features") if self.lines == "samples" else _TURNED
            told.append(f"  rows hold {self.lines} ({flag} reads them as {other})")
        if about.labels is not None:
            counts = Counter(about.labels.tolist())
            n_unknown = counts.pop(UNKNOWN, 0)
            some = [f"{short(name)} {n}" for name, n in counts.most_common(_MOST_CLASSES)]
            some += ["..."] * (len(counts) > _MOST_CLASSES)
            unknown = f"; {n_unknown} samples without a class" if n_unknown else ""
            told.append(f"  {len(counts)} classes: {', '.join(some)}{unknown}")
        return told + ([] if about.groups is None else [f"  {len({*about.groups})} groups"])

    def preview(self) -> list[str]:
        """Show the first values as in the file, with samples as rows."""
        _, block = next(self.blocks(_SHOWN))
        values = as_dense(block[:, :_SHOWN]) + self.offset[:_SHOWN]
        return preview(np.round(values, 6), self.sample_names, self.about.features)


def preview(values: np.ndarray, samples: Sequence[str], features: Sequence[str]) -> list[str]:
    """Write the first values of a table, with the names of samples and features."""
    some = [short(name, 20) for name in features[:_SHOWN]]
    table = pd.DataFrame(
        values[:_SHOWN, :_SHOWN], [short(one, 20) for one in samples[:_SHOWN]], some
    )
    return table.to_string().split("\n")


def _cut(parts: Iterable[Block], height: int) -> Iterator[Block]:
    """Divide consecutive rows into blocks of equal height, except the last one."""
    held = None
    for part in parts:
        rows = part if held is None else _join([held, part])
        whole = rows.shape[0] // height * height
        for start in range(0, whole, height):
            yield rows[start : start + height]
        held = rows[whole:] if whole < rows.shape[0] else None
    if held is not None:
        yield held


def _join(blocks: list[Block]) -> Block:
    return vstack(blocks, format="csr") if issparse(blocks[0]) else np.concatenate(blocks)


class SparseRows:
    """Compressed rows in a group, (n, p), as slices; a ValueError if they do not add up."""

    def __init__(self, node: Any, shape: tuple[int, int]) -> None:
        self.shape, self._name = shape, node.name
        self.data, self.indices, starts = (node[part] for part in ("data", "indices", "indptr"))
        if {self.indices.dtype.kind, starts.dtype.kind} - {*"iu"}:
            raise ValueError(f"{self._name}: indices and indptr should be integers")
        self.indptr, self.nnz = starts[:].astype(np.int64), int(self.data.shape[0])
        n_starts, lengths = shape[0] + 1, {self.data.shape, self.indices.shape}
        steps, ends = np.diff(self.indptr, prepend=0), {(*self.indptr[-1:],)}
        if len(steps) != n_starts or steps[0] or (steps < 0).any() or lengths != ends:
            rule = f"ascend from 0 to the number of values and indices in {n_starts} values"
            raise ValueError(f"{self._name}: indptr should {rule}")

    def __getitem__(self, rows: slice) -> csr_array:
        starts = self.indptr[rows.start : rows.stop + 1]
        stored = slice(int(starts[0]), int(starts[-1]))
        parts = self.data[stored], self.indices[stored], starts - starts[0]
        found = csr_array(parts, shape=(rows.stop - rows.start, self.shape[1]))
        # Conversions trust the indices; if out of bounds, they would write anywhere in memory.
        try:
            found.check_format(full_check=True)
        except ValueError as error:
            problem = f"{self._name}: in rows from {rows.start + 1} on, {error}"
            raise ValueError(problem) from error
        return found


def held_bytes(n_samples: int, n_features: int, n_stored: int | None = None) -> int:
    """Return the memory of a matrix, dense or, with fewer stored values than half, sparse."""
    dense = 4 * n_samples * n_features
    return dense if n_stored is None else min(dense, 8 * n_stored)


def check_size(n: int, p: int, n_stored: int | None = None, *, in_blocks: bool = False) -> None:
    """Refuse a matrix that is too small to cluster, or larger than its limit."""
    for what, found, least in (("n_samples", n, MIN_SAMPLES), ("n_features", p, 1)):
        if found < least:
            raise refusal("at_least", what=what, n=found, least=least)
    size = held_bytes(n, p, n_stored) / 2**30
    limit = (STREAMED_LIMIT if in_blocks else HELD_LIMIT) / 2**30
    if size > limit:
        kind = "dense" if n_stored is None else "sparse"
        raise refusal("too_large", n=n, p=p, kind=kind, size=size, limit=limit)


def check_named(
    settings: Settings,
    names: Sequence[str],
    where: str,
    other: str = "",
    others: Sequence[str] = (),
) -> None:
    """Refuse a setting whose name is not on an axis; names in `others` may be ignored."""
    lists = {"annotate": settings.annotate, "ignore": settings.ignore}
    given = [*settings.named.items(), *(("ignore", name) for name in settings.ignore)]
    for key, name in given:
        is_ignored = key == "ignore"
        if name in settings.ignore and not is_ignored:
            raise refusal("also_ignored", key=key, name=name)
        known = [*names, *others] if is_ignored else names
        if name in known or name in settings.inherited:
            continue
        setting = key.partition("[")[0]
        hint = suggest(setting, name, known, lists.get(setting, ()))
        if name in others:
            hint = say("looks_turned", other=other, transpose=settings.transpose is not True)
        kind = "not_there" if len(known) or name in others else "nothing_named"
        raise refusal(kind, key=key, name=name, where=where, names=names, hint=hint)


def assemble(
    raw: RawMatrix, settings: Settings, columns: Mapping[str, Any], label: str | None = None
) -> RawMatrix:
    """Check names, and read the annotation of the samples; `label` is a column of classes."""
    about, annotations, known = raw.about, {}, {}
    known["features"] = _check_names(about.features, "feature", raw.remarks)
    if about.samples is not None:
        known["samples"] = _check_names(about.samples, "sample", raw.remarks)
    label = settings.labels or label
    words = _MISSING_LABELS | set(map(str, settings.missing_values))
    for key, name in {**settings.named, **({"labels": label} if label else {})}.items():
        if key == "samples":
            continue
        texts = _known(columns[name], words)
        marked = texts.replace(",", ".", regex=True)
        numbers = pd.to_numeric(marked, errors="coerce").astype(float)
        if key == "weights":
            known[key] = _check_weights(name, texts, numbers)
        elif key.startswith("annotate"):
            is_number = numbers.notna().sum() == texts.notna().sum()
            annotations[name] = (numbers if is_number else texts).to_numpy()
        else:
            known[key] = _check_classes(key, name, texts)
    raw.about = replace(about, annotations=annotations, **known)
    raw.remarks += _list_remarks(raw, settings.missing_values)
    return raw


def _check_weights(name: str, texts: pd.Series, numbers: pd.Series) -> np.ndarray:
    """Check that all samples have weights that are not negative, and some more than 0."""
    wrong = texts.fillna(UNKNOWN)[~(np.isfinite(numbers) & (numbers >= 0))]
    if len(wrong) or not numbers.any():
        raise refusal("weights", name=name, value=[*wrong, 0][0])
    return numbers.to_numpy()


def _check_classes(key: str, name: str, texts: pd.Series) -> np.ndarray:
    """Check that enough samples have a class, or that all samples are in at least two groups."""
    found, n = texts.fillna(UNKNOWN).to_numpy(dtype=object), len(texts)
    n_known = int((found != UNKNOWN).sum())
    _check_storable(f"{'label' if key == 'labels' else 'group'} of {name!r}:", found)
    if key == "labels" and n_known < MIN_LABELS:
        raise refusal("few_labels", name=name, n=n_known, of=n, least=MIN_LABELS)
    if key != "labels" and n_known < n:
        raise refusal("no_group", key=key, name=name, n=n - n_known, of=n)
    if key != "labels" and len({*found}) < 2:
        raise refusal("one_group", key=key, name=name, group=found[0])
    return found


def _known(values: Iterable[Any], words: set[str]) -> pd.Series:
    """Return a column as text, None if missing; integers that were read as floats are integers."""
    floats = [one for one in values if isinstance(one, float | np.floating) and not pd.isna(one)]
    whole = all(float(one).is_integer() for one in floats)

    def write(value: Any) -> str:
        is_whole = whole and isinstance(value, float | np.floating)
        # Surrounding blanks would turn the same word into another class.
        return str(int(value) if is_whole else value).strip()

    texts = pd.Series([*values], dtype=object).map(write, na_action="ignore")
    return texts.where(texts.notna() & ~texts.isin(words), None)


def _check_names(values: Sequence[object], kind: str, remarks: list[str]) -> list[str]:
    """Check that no name is missing, and append numbers to repeated names."""
    names = pd.Series([*map(str, values)], dtype=object)
    unnamed = sum(not name.strip() for name in names)
    if unnamed:
        raise refusal("unnamed", n=unnamed, kind=kind)
    _check_storable(f"{kind} name", names)
    repeated = names[names.duplicated()].unique().tolist()
    if repeated:
        remarks.append(say("repeated_names", n=len(repeated), kind=kind, names=repeated[:3]))
    while names.duplicated().any():
        count = names.groupby(names).cumcount()
        names = names.where(count == 0, names + "_" + (count + 1).astype(str))
    return names.tolist()


def _check_storable(what: str, texts: Iterable[str]) -> None:
    for text in texts:
        if not is_storable(text):
            raise refusal("not_storable", what=what, text=text)


def merge_features(
    X: np.ndarray, features: list[str], how: str | None, remarks: list[str]
) -> tuple[np.ndarray, list[str]]:
    """Merge the columns of features with one name, by default by the mean (counts: the sum).

    Without a setting, a name that more than `_MOST_MERGED` features have is not merged.
    """
    counts, most = Counter(features), len(features) if how else _MOST_MERGED
    repeated = [name for name, count in counts.items() if 1 < count <= most and name.strip()]
    if not repeated:
        return X, features
    known = X[:50][np.isfinite(X[:50])]
    are_counts = (known >= 0).all() and (known == np.rint(known)).all()
    how = how or ("sum" if are_counts and known.max(initial=0) > _SMALLEST_COUNT else "mean")
    keys = [name if counts[name] <= most else at for at, name in enumerate(features)]
    numbers, _ = pd.factorize(np.array(keys, dtype=object))
    lines = pd.DataFrame(X.T).groupby(numbers)
    merged = lines.sum(min_count=1) if how == "sum" else lines.agg(how)
    other = next(word for word in DUPLICATES if word != how)
    about = {"n": len(repeated), "names": repeated[:3], "how": how}
    remarks.append(say("merged", **about, duplicates=other))
    kept = np.unique(numbers, return_index=True)[1]
    return merged.to_numpy().T, [features[at] for at in kept]


def _list_remarks(raw: RawMatrix, missing: Sequence[object]) -> list[str]:
    """List remarks on names that are dates, numbers for missing values, and identical samples."""
    remarks, seen, same, low = [], {}, [], np.full(raw.shape[1], np.inf)
    dates = [name for name in raw.about.features if is_date(name)]
    if dates:
        remarks.append(say("dates", n=len(dates), example=dates[0], ignore=dates))
    for rows, block in raw.blocks():
        dense = as_dense(block)
        for at, row in enumerate(dense, rows.start):
            other = seen.setdefault(hash(row.tobytes()), at)
            same += [(other, at)] * (other != at)
        low = np.fmin(low, np.fmin.reduce(dense))
    # These are the values of the file, rounded to single precision.
    low = np.round(low + raw.offset, 4)
    found = {number: n for number in _SENTINELS if (n := int((low == number).sum()))}
    if found:
        words = ", ".join(f"{number} (in {n} features)" for number, n in found.items())
        remarks.append(say("sentinels", words=words, missing_values=[*missing, *found]))
    if same and len(low) > 1:
        name = raw.sample_names
        pairs = [f"{name[one]} = {name[two]}" for one, two in same[:3]] + ["..."] * (len(same) > 3)
        remarks.append(say("same_samples", n=len(same), pairs=", ".join(pairs)))
    return remarks
