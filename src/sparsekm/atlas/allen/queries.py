"""Addresses on the servers: queries in their query language (RMA), trees, grids and annotations.

Queries are simple and name only a product and an age. Failed experiments, other planes and other
treatments are filtered after the download, where they are counted.
"""

from __future__ import annotations

from urllib.parse import quote

from sparsekm.atlas.vocabulary import PRODUCT, STRUCTURE_GRAPH_ID, get_age

_SAFE = ";/?:@&=+$,"
# The language has no way to quote these within a value.
_FORBIDDEN = "'\"[](),$:;"
_ANNOTATIONS = "informatics-archive/current-release/mouse_annotation"
_INCLUDED = "genes,probes(gene),plane_of_section,reference_space,treatments,specimen(donor(age))"


def quote_value(value: str) -> str:
    """Quote a value of a query; the language cannot quote every character."""
    for character in value:
        if character in _FORBIDDEN or character.isspace():
            raise ValueError(f"value={value!r} should not hold {character!r}.")
    return f"'{value}'"


def section_data_sets_of(age: str) -> tuple[str, str]:
    """Return the query for all section data sets of an age, as stages and order."""
    name = quote_value(get_age(age).name)
    stages = (
        f"model::SectionDataSet,rma::criteria,products[abbreviation$eq{quote_value(PRODUCT)}],"
        f"specimen(donor(age[name$eq{name}])),rma::include,{_INCLUDED}"
    )
    return stages, "data_sets.id"


def genes_of_the_atlas() -> tuple[str, str]:
    """Return the query for all genes of the atlas, as stages and order."""
    return (
        f"model::Gene,rma::criteria,products[abbreviation$eq{quote_value(PRODUCT)}]",
        "genes.id",
    )


def products_of_the_atlas() -> tuple[str, str]:
    """Return the query for the atlas itself, as stages and order."""
    return f"model::Product,rma::criteria,[abbreviation$eq{quote_value(PRODUCT)}]", "products.id"


def page_url(base: str, query: tuple[str, str], start_row: int, num_rows: int) -> str:
    """Return the address of one page of a query's rows on the server `base`.

    A query consists of its stages and the column to order by, without which pages would be
    undefined.
    """
    stages, order = query
    page = f"[start_row$eq{start_row}][num_rows$eq{num_rows}]"
    options = f"rma::options[order$eq{quote_value(order)}]{page}"
    return f"{base}/api/v2/data/query.json?criteria={quote(f'{stages},{options}', safe=_SAFE)}"


def ontology_url(base: str) -> str:
    """Return the address of the structure tree."""
    return f"{base}/api/v2/structure_graph_download/{STRUCTURE_GRAPH_ID}.json"


def energy_url(base: str, section_data_set_id: int) -> str:
    """Return the address of the energy grid of a section data set."""
    return f"{base}/grid_data/download/{section_data_set_id}?include=energy"


def annotation_url(base: str, age: str) -> str:
    """Return the address of the grid annotation of an age."""
    return f"{base}/{_ANNOTATIONS}/{get_age(age).annotation_file}"
