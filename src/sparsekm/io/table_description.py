"""What a table holds and how it was read: for the command's summary, the job and the report."""

from __future__ import annotations

from dataclasses import dataclass

from sparsekm.io.input_error import escape_unprintable, shorten

_MOST_CLASSES = 8


@dataclass(frozen=True)
class TableDescription:
    """The content of a table, and what its reader did.

    `samples` and `features` are the first and last names; `classes` counts the samples of each
    known class, and `n_unknown` those without a class; `n_groups` is the number of groups. `lines`
    tells what the lines of the table hold. `remarks` say what was guessed, left out or changed,
    with the settings that would read it otherwise.
    """

    n_samples: int
    n_features: int
    samples: list[str] | None
    features: list[str]
    classes: dict[str, int] | None
    n_unknown: int
    n_groups: int | None
    lines: str | None
    remarks: list[str]

    def summary(self) -> list[str]:
        """Return a few lines about the content, without the remarks."""
        told = [f"{self.n_samples:,} samples x {self.n_features:,} features"]
        for what, names in (("samples", self.samples), ("features", self.features)):
            shown_names = " ... ".join(f"'{short(name)}'" for name in names or ())
            told.append(f"  {what}: {shown_names or 'without names'}")
        if self.lines == "samples":
            told.append("  lines hold samples (--transpose reads them as features)")
        if self.lines == "features":
            told.append("  lines hold features (--no-transpose reads them as samples)")
        if self.classes is not None:
            largest = sorted(self.classes.items(), key=lambda item: -item[1])
            some = [f"{short(name)} {count}" for name, count in largest[:_MOST_CLASSES]]
            some += ["..."] * (len(largest) > _MOST_CLASSES)
            unknown = f"; {self.n_unknown} samples without a class" if self.n_unknown else ""
            noun = "class" if len(largest) == 1 else "classes"
            told.append(f"  {len(largest)} {noun}: {', '.join(some)}{unknown}")
        return told + ([] if self.n_groups is None else [f"  {self.n_groups} groups"])


def short(text: str, most: int = 40) -> str:
    """Write any text in one short line."""
    return shorten(escape_unprintable(text), most)
