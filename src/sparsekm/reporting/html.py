"""Rendering the content of a page as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render_page(content: Mapping[str, Any], template: str = "report.html") -> str:
    """Fill in a template, a file in ``templates``.

    Everything that comes from data is escaped; a name that the content lacks is an error.
    """
    environment = Environment(
        loader=PackageLoader("sparsekm.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Tables of genes are most of the page, so their values are not separated by blanks.
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment.get_template(template).render(content)
