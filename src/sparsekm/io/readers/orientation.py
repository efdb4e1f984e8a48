"""Detecting the orientation of a table: whether its lines hold samples or features.

Most published expression tables have one gene per line. If such a table were clustered as it is,
genes would be treated as samples without any sign of it in the result. The orientation is therefore
detected from the names: names of genes, probes, proteins and the like are recognised by their form,
or as a few very common symbols.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

TALL = 10
"""Ratio of lines to columns from which the user has to decide, if the names tell nothing."""

# Headings of a column of gene names, and stems of numbered gene names.
_FEATURE_WORD = (
    r"(gene|feature|probe|probeset|protein|transcript|marker|entrez|ensembl|symbol|refseq|hugo|hgnc"
    r"|uniprot|peptide|metabolite|cpg|snp|otu|taxon|mirna|ncbi)s?"
)
_FEATURE_HEADING = re.compile(
    rf"(id_ref|({_FEATURE_WORD}[ _.-]?)+(ids?|names?|sets?|symbols?|accessions?)?)", re.IGNORECASE
)
_FEATURE_NAME = re.compile(
    r"ENS[A-Z]*[GTP]\d{6,}(\.\d+)?|\d+(_[a-z]+)?_at|AFFX-.+|ILMN_\d+|A_\d+_P\d+|[NX][MRP]_\d+(\.\d+)?"
    r"|[a-z]{3}-(mir|let|miR)-.+|cg\d{8}|rs\d+|LOC\d+|FBgn\d+|WBGene\d+|AT[1-5MC]G\d{5}|Y[A-P][LR]\d{3}[WC]"
    rf"|(?i:{_FEATURE_WORD})[ _.-]?\d+"
)
_SAMPLE_NAME = re.compile(
    r"GS[ME]\d+.*|TCGA[-.].+|[SED]RR\d+|[ACGT]{8,}([-_.].*)?|.*[-_][ACGT]{12,}(-\d+)?"
    r"|(?i:(sample|cell|patient|subject|donor|tumou?r|case|control|mouse|rat|well|individual"
    r"|replicate|array|normal|id|pt|participant|plate|spot)s?[ _.-]?[A-Z]?\d+.*)"
)
# Genes on nearly every platform, with the same symbol in human and mouse except for case.
_SYMBOL = re.compile(
    "ACTB|ALB|B2M|BCL2|BRAF|BRCA1|BRCA2|CCNB1|CCND1|CCR7|CD14|CD19|CD3D|CD3E|CD4|CD44|CD68|CD79A"
    "|CD8A|CD8B|CDH1|CDK1|CDKN1A|CDKN2A|COL1A1|COL3A1|CXCL8|EEF1A1|EGFR|EPCAM|ERBB2|ESR1|FN1|FOXA1"
    "|FOXP3|FTH1|FTL|GAD1|GAPDH|GATA3|GFAP|GNLY|GZMB|HBB|HIF1A|IFNG|IL2|IL6|IL7R|INS|ITGAM|KIT"
    "|KRAS|KRT14|KRT18|KRT19|KRT5|KRT8|LYZ|MALAT1|MKI67|MS4A1|MYC|NANOG|NKG7|NOTCH1|NRAS|OLIG2"
    "|PAX6|PCNA|PECAM1|PGR|POU5F1|PPBP|PTEN|PTPRC|RB1|RPL10|RPL13A|RPLP0|RPS27|S100A8|S100A9|SHH"
    "|SOX2|STAT1|STAT3|TGFB1|TNF|TOP2A|TP53|TUBB3|VEGFA|VIM"
)
_FEWEST_SYMBOLS = 3


def names_features(heading: str) -> bool:
    """Tell whether a column with this heading holds feature names.

    Examples
    --------
    >>> names_features("Gene_ID"), names_features("Hugo_Symbol"), names_features("sample")
    (True, True, False)
    """
    return _FEATURE_HEADING.fullmatch(heading.strip()) is not None


def look_like_features(names: Sequence[str]) -> bool:
    """Tell whether most names look like feature names, or some are well-known genes.

    Examples
    --------
    >>> look_like_features(["ENSG00000141510", "ENSG00000012048", "other"])
    True
    >>> look_like_features(["Gapdh", "Trp53", "Actb", "Myc"])
    True
    >>> look_like_features(["s1", "s2", "s3"])
    False
    """
    n_known = len(set(filter(_SYMBOL.fullmatch, map(str.upper, names))))
    return _most(names, _FEATURE_NAME) or n_known >= _FEWEST_SYMBOLS


def look_like_samples(names: Sequence[str]) -> bool:
    """Tell whether most names look like sample names, or have one stem and different numbers.

    Examples
    --------
    >>> look_like_samples(["GSM101", "GSM102"]), look_like_samples(["P01", "P02", "P03"])
    (True, True)
    >>> look_like_samples(["gene1", "gene2", "gene3"])
    False
    """
    if look_like_features(names):
        return False
    stems = Counter(re.sub(r"\d+$", "", name) for name in names if re.search(r"\d$", name))
    return _most(names, _SAMPLE_NAME) or max(stems.values(), default=0) > len(names) / 2


def find_orientation(
    heading: str, columns: Sequence[str], lines: Sequence[str], n_lines: int
) -> tuple[bool, str] | None:
    """Decide from the names whether lines hold features, and say by which sign.

    `heading` is the heading of the column of line names and may be empty; `lines` may be only the
    first names. The sign is empty if lines hold samples. The result is None if the names tell
    nothing and the table is so tall that it may be transposed.
    """
    above, below = look_like_features(columns), look_like_features(lines)
    if names_features(heading) and not above:
        return True, f"the first column is called {heading!r}"
    if below and not above:
        return True, f"the line names, such as {lines[0]!r}, look like feature names"
    if above or look_like_samples(lines) or n_lines < TALL * len(columns):
        return False, ""
    return None


def _most(names: Sequence[str], pattern: re.Pattern) -> bool:
    return 2 * sum(pattern.fullmatch(name.strip()) is not None for name in names) > len(names)
