"""Answer queries in the subset of the servers' language (RMA) that a client of the atlas needs.

``model::M,rma::criteria,<filters>,rma::include,<names>,rma::options<[name$eqvalue]...>``; a filter
is ``[attribute$opvalue]`` or ``association`` followed by filters in brackets or, nested, in
parentheses. Whatever is not of this form is an error, as it is for the servers.
"""

import re

OPERATORS = {
    "eq": lambda value, wanted: str(value).lower() == wanted[0].lower(),
    "ne": lambda value, wanted: str(value).lower() != wanted[0].lower(),
    "in": lambda value, wanted: str(value) in wanted,
    "il": lambda value, wanted: str(value).lower() == wanted[0].lower(),
}
_STAGE = re.compile(r",?(model::|rma::criteria,|rma::include,|rma::options,?)")
_BRACKET = re.compile(r"\[(\w+)\$(eq|ne|in|il)((?:'[^']*'|[^\[\]',])+(?:,'[^']*')*)\]")
_NAME = re.compile(r"\w+")


class QueryError(ValueError):
    """A query that is not of the language."""


def answer(query: str, tables: dict[str, list[dict]], default_rows: int, max_rows: int) -> dict:
    """Answer a query in the servers' envelope."""
    try:
        return _answer(query, tables, default_rows, max_rows)
    except QueryError as error:
        return {"success": False, "id": 0, "start_row": 0, "num_rows": 0, "msg": str(error)}


def _answer(query, tables, default_rows, max_rows):
    stages = _split_stages(query)
    model = stages.get("model::", "")
    if model not in tables:
        raise QueryError(f"Error in query: unknown model {model!r} line 1, column 8")
    rows = tables[model]
    for test in _Filters(stages.get("rma::criteria,", "")).parse():
        rows = [row for row in rows if test(row)]
    options = {m[1]: m[3].strip("'") for m in _BRACKET.finditer(stages.get("rma::options", ""))}
    if "order" in options:
        attribute = options["order"].rpartition(".")[2]
        rows = sorted(rows, key=lambda row: row[attribute])
    start = int(options.get("start_row", 0))
    asked = options.get("num_rows", default_rows)
    n_rows = min(len(rows) if asked == "all" else int(asked), max_rows)
    page = [
        {key: value for key, value in row.items() if key != "products"}
        for row in rows[start : start + n_rows]
    ]
    counts = {"start_row": start, "num_rows": len(page), "total_rows": len(rows)}
    return {"success": True, "id": 0, **counts, "msg": page}


def _split_stages(query: str) -> dict[str, str]:
    parts = _STAGE.split(query)
    if parts[0] or len(parts) < 3:
        raise QueryError("Error in query: a model should come first, line 1, column 1")
    return {name.rstrip(",") if "options" in name else name: text
            for name, text in zip(parts[1::2], parts[2::2], strict=True)}  # fmt: skip


class _Filters:
    """Recursive descent through a list of filters; each becomes a test of a row."""

    def __init__(self, text: str):
        self._text, self._at = text, 0

    def parse(self):
        found = self._list()
        if self._at < len(self._text):
            self._fail()
        return found

    def _list(self):
        found = []
        while self._at < len(self._text) and self._peek() != ")":
            found.append(self._filter())
            if self._peek() == ",":
                self._at += 1
        return found

    def _filter(self):
        if self._peek() == "[":
            return self._bracket()
        name = _NAME.match(self._text, self._at)
        if not name:
            self._fail()
        self._at = name.end()
        inner = []
        while self._peek() in ("[", "("):
            if self._peek() == "[":
                inner.append(self._bracket())
                continue
            self._at += 1
            inner += self._list()
            if self._peek() != ")":
                self._fail()
            self._at += 1
        return lambda row: _any_associated(row, name[0], inner)

    def _bracket(self):
        match = _BRACKET.match(self._text, self._at)
        if not match:
            self._fail()
        self._at = match.end()
        attribute, operator, value = match.groups()
        if value != value.strip():
            self._fail()
        wanted = [part.strip("'") for part in value.split(",")]

        def test(row):
            if attribute not in row:
                raise QueryError(f"Error in query: unknown {attribute!r}, line 1, column 2")
            return OPERATORS[operator](row[attribute], wanted)

        return test

    def _peek(self):
        return self._text[self._at : self._at + 1]

    def _fail(self):
        raise QueryError(f"Error in query: no viable alternative, line 1, column {self._at}")


def _any_associated(row, name, tests):
    if name not in row:
        raise QueryError(f"Error in query: unknown association {name!r}, line 1, column 3")
    found = row[name] if isinstance(row[name], list) else [row[name]]
    return any(all(test(entry) for test in tests) for entry in found)
