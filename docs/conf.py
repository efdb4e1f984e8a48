"""The site's configuration: `make docs` builds it to docs/_build/html."""

import os

from docutils.nodes import SkipNode, entry, inline, paragraph, row, table, thead
from docutils.utils.math.latex2mathml import tex2mathml
from pygments.lexers.special import TextLexer

import sparsekm

project = "sparsekm"
author = "the sparsekm developers"
project_copyright = author
version = release = sparsekm.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples"]
templates_path = ["_templates"]
# Links to headings within a page, as GitHub makes them.
myst_heading_anchors = 3
myst_enable_extensions = ["deflist", "dollarmath"]
# What stands in single backquotes in a docstring is a name of Python.
default_role = "py:obj"
language = "en_GB"

autosummary_generate = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

os.environ.setdefault("MPLBACKEND", "Agg")
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    # The digits before a file's name order the gallery.
    "filename_pattern": r"/\d\d_",
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "doc_module": ("sparsekm",),
    "backreferences_dir": "generated/backreferences",
    # An example that fails ends the build.
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "sparsekm"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
# Pages without others below them need no list of these.
html_sidebars = {page: [] for page in ("index", "installation", "tutorial", "performance")}
html_theme_options = {
    "logo": {"text": "sparsekm"},
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    # Wide tables need the place of the list of headings.
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        **{page: [] for page in ("options", "files", "formats", "reruns", "clusters", "paper")},
    },
    "show_prev_next": True,
}


def render_inline_math(translator, node):
    """Write a formula as MathML, which browsers draw without a script from elsewhere."""
    translator.body.append(tex2mathml(node.astext(), as_block=False))
    raise SkipNode


def render_math_block(translator, node):
    """Write a formula on a line of its own as MathML."""
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    raise SkipNode


def skip_members_of_others(app, what, name, member, skip, options):
    """Leave out what scikit-learn's base classes bring: its own pages describe it."""
    home = getattr(member, "__module__", None)
    return True if home is not None and not home.startswith("sparsekm") else None


def label_cells(app, doctree, docname):
    """Write into each cell the head of its column, which narrow screens show (site.css)."""
    for found in doctree.findall(table):
        heads = [cell.astext() for head in found.findall(thead) for cell in head.findall(entry)]
        for line in found.findall(row):
            # Of two columns the second needs no name.
            if len(heads) < 3 or isinstance(line.parent, thead):
                continue
            # The first cell names the row.
            for cell, head in list(zip(line.children, heads, strict=True))[1:]:
                if head and cell.astext():
                    cell.insert(0, paragraph("", "", inline(text=head), classes=["column-head"]))


def setup(app):
    """Register what Sphinx has no setting for."""
    app.add_html_math_renderer("mathml", (render_inline_math, None), (render_math_block, None))
    app.connect("autodoc-skip-member", skip_members_of_others)
    app.connect("doctree-resolved", label_cells)
    # Pygments has no lexer of this name.
    app.add_lexer("csv", TextLexer)
