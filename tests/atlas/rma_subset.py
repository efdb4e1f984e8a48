"""Answer the queries that a client of the atlas sends, in pages; whatever else is an error.

Of the servers' query language (RMA) this knows one form: all rows of a model for a product and,
where one is named, an age, ordered by a column.
"""

import re

_NAME, _START, _ROWS = r"'([\w.]+)'", r"\[start_row\$eq(\d+)\]", r"\[num_rows\$eq(\d+)\]"
_QUERY = re.compile(
    rf"model::(\w+),rma::criteria,(products)?\[abbreviation\$eq{_NAME}\]"
    rf"(?:,specimen\(donor\(age\[name\$eq{_NAME}\]\)\))?(?:,rma::include,[\w(),]+)?"
    rf",rma::options\[order\$eq'\w+\.(\w+)'\]{_START}{_ROWS}"
)


def answer(query: str, tables: dict[str, list[dict]], max_rows: int) -> dict:
    """Answer a query in the servers' envelope."""
    found = _QUERY.fullmatch(query)
    if found is None or found[1] not in tables:
        message = "Error in query: no viable alternative, line 1, column 1"
        return {"success": False, "id": 0, "start_row": 0, "num_rows": 0, "msg": message}
    model, of_products, product, age, order = found.groups()[:5]
    start, n_rows = int(found[6]), min(int(found[7]), max_rows)
    rows = [
        row
        for row in sorted(tables[model], key=lambda row: row[order])
        if any(p["abbreviation"] == product for p in (row["products"] if of_products else [row]))
        and (age is None or row["specimen"]["donor"]["age"]["name"] == age)
    ]
    page = [
        {key: value for key, value in row.items() if key != "products"}
        for row in rows[start : start + n_rows]
    ]
    counts = {"start_row": start, "num_rows": len(page), "total_rows": len(rows)}
    return {"success": True, "id": 0, **counts, "msg": page}
