"""Cells that should contain numbers but do not, and the error message about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sparsekm.io.readers.raw_matrix import MatrixError, listed
from sparsekm.io.readers.table_parts import TableParts
from sparsekm.io.readers.text_table import TextTable


class WrongCells:
    """Collects, by feature, the cells that are neither numbers nor missing."""

    def __init__(self, table: TextTable) -> None:
        self.table = table
        self.first: dict[str, tuple[int, str]] = {}
        self.cells: defaultdict[str, list[str]] = defaultdict(list)
        self.n_samples = 0

    def examine(self, cell: str, feature: str, sample: int) -> None:
        """Examine the cell of a feature and a sample, counted from 1."""
        self.n_samples = max(self.n_samples, sample)
        if self.table.is_text(cell):
            self.first.setdefault(feature, (sample, cell.strip()))
            self.cells[feature].append(cell)

    def check(self, kind: str, names: Sequence[str], parts: TableParts) -> None:
        """Refuse the table if there are such cells; `names` are those of the lines or columns."""
        wrong = [name for name in names if name in self.first]
        if not wrong:
            return
        sample, cell = self.first[wrong[0]]
        one = kind.removesuffix("s")
        noun = f"one {one} is" if len(wrong) == 1 else f"{len(wrong)} {kind} are"
        raise MatrixError(
            f"{self.table.file}: {noun} not numeric: {listed(wrong)}; the first such value is "
            f"{cell!r} in {one} {wrong[0]!r}, sample {sample}. {self._cure(wrong, names, parts)}."
        )

    def _cure(self, wrong: Sequence[str], names: Sequence[str], parts: TableParts) -> str:
        """Suggest a setting, depending on how many cells are wrong and how they differ."""
        them = "it" if len(wrong) == 1 else "them"
        leave_out = f"et ignore: {listed(wrong)} to leave {them} out"
        text = [name for name in wrong if 2 * len(self.cells[name]) > self.n_samples]
        if text:
            different = [name for name in text if len(set(self.cells[name])) == self.n_samples]
            cure = f"S{leave_out}"
            if different and parts.samples is None:
                cure += f", or samples: {different[0]} if it names the samples"
            classes = [name for name in text if name not in different]
            if classes and parts.labels is None:
                cure += f", or labels: {classes[0]} if it holds known classes"
            return cure
        if 2 * len(wrong) > len(names) and len({self.first[name][0] for name in wrong}) == 1:
            return f"Remove entry {self.first[wrong[0]][0]}, which does not seem to be a sample"
        return f"Replace these values by numbers, or s{leave_out}"
