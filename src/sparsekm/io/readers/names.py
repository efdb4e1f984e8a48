"""What names say about an axis of a table: whether they name samples or features.

`known_names.json` lists the words, headings and symbols that are known; forms of names, such as
those of databases and instruments, are patterns here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

_LOOKED_AT = 2000
KNOWN = json.loads(Path(__file__).with_name("known_names.json").read_text(encoding="utf-8"))
_SYMBOLS = frozenset(KNOWN["symbols"].split())
_SUBSTANCES = frozenset(KNOWN["substances"].split())
_FEATURE_WORD = "(?:" + "|".join(map(re.escape, KNOWN["feature_words"])) + ")s?"
_SAMPLE_WORD = "(?:" + "|".join(map(re.escape, KNOWN["sample_words"])) + ")s?"
_SUFFIX = r"(?:[ _.-]*(?:ids?|names?|sets?|symbols?|accessions?|codes?|no|nr|number|key|title))*"
_FEATURE_HEADING = re.compile(rf"id[ _]ref|(?:{_FEATURE_WORD}[ _.-]*)+{_SUFFIX}", re.I)
_SAMPLE_HEADING = re.compile(rf"(?:{_SAMPLE_WORD}[ _.-]*)+{_SUFFIX}", re.I)
NUMBERING = re.compile(
    rf"(?:(?:{_SAMPLE_WORD}|event)[ _.-]*)?(?:ids?|names?|index|numbers?|no|nr|#)|rows?|rownames?"
    rf"|row[ _.]names|{_SAMPLE_WORD}|unnamed: 0|x|",
    re.I,
)
"""Headings of a column that may number the samples; the last are those of R and pandas."""

_FEATURE_NAME = re.compile(
    # Genes, transcripts and probes.
    r"ENS[A-Z]*[GTPE]\d{6,}(\.\d+)?([_|].*)?|\d+(_[a-z]+)?_at|AFFX-.+|ILMN_\d+|A_\d+_P\d+"
    r"|TC\w+\.(hg|mm)\.\d|[NX][MRPC]_\d+(\.\d+)?|([a-z]{3}-)?(mir|let|miR)-.+|MI(MAT)?\d{7}"
    r"|cg\d{8}(_.*)?|rs\d{3,}.*|LOC(_Os\d+g)?\d+|FB(gn|tr|pp)\d+|WBGene\d+|AT[1-5MC]G\d{5}(\.\d+)?"
    r"|Y[A-P][LR]\d{3}[WC](-[A-Z])?|b\d{4}|PF3D7_\w+|(MSTRG|STRG)\.\d+(\.\d+)?|(XLOC|TCONS)_\d+"
    r"|Os\d\d[gt]\d{7}.*|Zm\d{5}[a-z]+\d{6}.*|(GRMZM|Glyma|Solyc|Traes|HORVU|TRINITY_|Potri\.).+"
    r"|comp\d+_c\d+.*|chr[\dXYMT]+[:_]\d+.*|[\dXY]+:\d+([-:_].+)?|(gene|rna|cds|exon)[-:].+"
    # Proteins, domains, pathways.
    r"|([OPQ]\d[A-Z0-9]{3}\d|[A-NR-Z]\d([A-Z][A-Z0-9]{2}\d){1,2})(-\d+)?([;|_].*)?|(sp|tr)\|.+"
    r"|[A-Z0-9]{2,10}_(HUMAN|MOUSE|RAT|YEAST|ECOLI|BOVIN|ARATH|PIG)|(CON|REV)__.+|IPI\d{8}.*"
    r"|(PF|IPR|COG|K|C|ko|map|arCOG)\d{5,6}(\.\d+)?|ENOG\w+|GO:\d{7}.*|R-[A-Z]{3}-\d+|(hsa|mmu)\d{5}"
    r"|(HALLMARK|KEGG|REACTOME|GOBP|WP|BIOCARTA)_.+|HMDB\d{5,}|CHEBI:\d+|LM[A-Z]{2}\d{6,}"
    # Lipids, metabolites and peaks of a mass spectrometer.
    r"|(?i:(lyso[ -]?)?(PC|PE|PS|PI|PG|PA|SM|TG|TAG|DG|DAG|MG|CE|Cer|(Lac|Hex\d?|Glc|SHex|dh)Cer"
    r"|LPC|LPE|LPI|LPS|LPG|FA|FFA|CL|BMP|ST|CAR|GM3|ChE|DCER)[ _.-]?(aa|ae|a|e)?[ _]*[([]?"
    r"([dtmop][ -]?|C)?\d+[:.]\d+.*)|C\d+:\d+.*|M\d+(\.\d+)?T\d+(\.\d+)?(_\d+)?|FT\d{3,}"
    r"|(m/?z|X)?[ _]?\d+\.\d+([_@/]\d+(\.\d+)?.*)?|\d+\.\d+[_@/].+"
    # Taxa, markers, and families of genes.
    r"|([kdpcofgs]__|D_\d__).*|.+[|;][kpcofgs]__.*|(?i:z?OTU|ASV|SV|denovo)[ _.-]?\d+"
    r"|(?i:(IL|IFN|TNF|MMP|TIMP|TGF|FGF|MIP|MCP|VEGF|CD|PDGF|IGFBP)[- ]?(\d+[A-Z]{0,2}\d?|[a-gα-ω]"
    r"|alpha|beta|gamma)([- /]?(p\d+|ra|r|[ab]\d?|\d+))?)"
    r"|(?i:SLC\d+A\d+|ZNF\d+|ZFP\d+|TMEM\d+[A-Z]?|KRT\d+|COL\d+A\d+|M?RP[LS]\d+[A-Z]?|HLA-.+|MT-.+"
    r"|FAM\d+[A-Z]\d*|CXC[LR]\d+|CC[LR]\d+|PCDH[A-Z]*\d+|HIST\d.*|IG[HKL][A-Z]\w+|MIR\d+.*|LINC\d+"
    r"|SNOR[AD]\d+|KCN[A-Z]+\d+|CYP\d+[A-Z]\d+|NDUF[A-Z]+\d+|PSM[A-Z]\d+|TRIM\d+|CCDC\d+|C\d+orf\d+"
    r"|\d+Rik|Gm\d{3,}|Olfr\d+|HOX[A-D]\d+|SOX\d+|FOX[A-Z]\d+|WNT\d+[AB]?|ABC[A-G]\d+|ADAM\w*\d+"
    r"|EIF\d.*|PIK3.+|GPR\d+|RAB\d+[A-Z]?|USP\d+|ATP\d+[A-Z]\w*|OR\d+[A-Z]\d+|TRA[VJ]\d.*)"
    # Numbered by a word for a feature, or as software does.
    rf"|(?i:{_FEATURE_WORD}[ _.-]?\d+)"
    r"|(?i:(feat|var|attr|attribute|q|item|question|dim|pc|component|factor|lv|band|pixel|wave"
    r"|wavelength|channel)[ _.-]?\d+)"
)
_SAMPLE_NAME = re.compile(
    r"GS[ME]\d+.*|TCGA[-.].+|[SED]RR\d+.*|SAM(N|EA|D)\d+|ACH-\d+|(HG|NA)\d{5}|[ACGT]{8,}([-_.].*)?"
    r"|.*[-_#:][ACGT]{12,}([-_.]\w+)?|[A-P](0[1-9]|1\d|2[0-4])|.+_S\d+(_L\d+)?"
    r"|.+\.(cel|bam|sam|fastq|fq|raw|mzml|d|wiff|fcs|idat)(\.gz)?"
    r"|(id|pt|pat|subj|sub)[ _.-]?[A-Z]?\d+.*"
    rf"|(?i:{_SAMPLE_WORD}[ _.-]?[A-Z]?\d+.*)",
    re.I,
)
_SAMPLE_TOKENS = frozenset(
    [
        "sample",
        "patient",
        "pat",
        "subject",
        "subj",
        "donor",
        "control",
        "controls",
        "ctrl",
        "ctl",
        "con",
        "treated",
        "untreated",
        "treatment",
        "trt",
        "wt",
        "ko",
        "wildtype",
        "mut",
        "mutant",
        "healthy",
        "disease",
        "diseased",
        "tumor",
        "tumour",
        "normal",
        "case",
        "cases",
        "vehicle",
        "dmso",
        "mock",
        "infected",
        "uninfected",
        "sham",
        "placebo",
        "baseline",
        "pre",
        "post",
        "biopsy",
        "rep",
        "replicate",
        "cell",
        "cells",
        "day",
        "week",
        "hr",
        "hrs",
        "mouse",
        "rat",
        "animal",
        "ill",
        "sick",
        "ad",
        "mci",
        "responder",
        "nonresponder",
        "intensity",
        "lfq",
        "abundance",
        "tpm",
        "fpkm",
        "rpkm",
        "counts",
        "batch",
        "ca",
        "nc",
        "hc",
        "bulk",
    ]
)
_FEW_SYMBOLS = 3
_SINGLE = re.compile(r"[sp][ _.-]?\d+[a-z]?", re.I)
_DEFAULT = re.compile(r"(v|x|f|c|col|column|unnamed:)[ _.]?\d+|\d+", re.I)


class NameEvidence(NamedTuple):
    """What the names of an axis say: above 0 for features, below for samples."""

    score: float
    # Whether names differ by numbers mostly, and whether software numbered them, which says nothing
    numbered: bool
    default: bool


def tidy(heading: str) -> str:
    """Write a heading in lower case, with single blanks for punctuation.

    Examples
    --------
    >>> tidy("Mol. weight [kDa]"), tidy("gene_start"), tidy("log2FoldChange")
    ('mol weight kda', 'gene start', 'log2foldchange')
    """
    return " ".join(re.sub(r"[^\w%+/#]|_", " ", heading.lower()).split())


def names_features(heading: str) -> bool:
    """Tell whether a column with this heading holds feature names."""
    return _FEATURE_HEADING.fullmatch(heading.strip().lstrip("#").strip()) is not None


def names_samples(heading: str) -> bool:
    """Tell whether a column with this heading holds sample names."""
    return _SAMPLE_HEADING.fullmatch(heading.strip()) is not None


def is_known(heading: str, kind: str) -> bool:
    """Tell whether a heading is in a list of `known_names.json`, whatever its punctuation."""
    return tidy(heading) in _LISTS[kind] or heading.strip() in _LISTS[kind]


_LISTS = {
    kind: frozenset(KNOWN[kind])
    for kind in (
        *("feature_annotations", "sample_annotations"),
        *("class_headings", "summaries", "special_lines", "describing"),
    )
}


def shape_of(name: str) -> str:
    """Return a name with its numbers replaced, which names of one kind share."""
    return re.sub(r"\d+", "#", name.strip())


def weigh_names(names: Sequence[str]) -> NameEvidence:
    """Weigh the names of an axis.

    Examples
    --------
    >>> weigh_names(["ENSG00000141510", "ENSG00000012048", "other"]).score
    2.0
    >>> weigh_names(["GSM101", "GSM102"]).score
    -2.0
    """
    names = [name.strip() for name in names[:_LOOKED_AT] if name.strip()]
    if not names:
        return NameEvidence(0.0, False, True)
    shapes = Counter(map(shape_of, names))
    numbered = len(names) > 1 and (
        2 * len(shapes) <= len(names) or 2 * max(shapes.values()) > len(names) > 2
    )
    default = _share(names, _DEFAULT.fullmatch) > 0.8
    known = {name.upper() for name in names} & _SYMBOLS
    features = _share(names, _is_feature)
    samples = _share(names, _is_sample)
    if len(known) >= _FEW_SYMBOLS and samples < 0.5:
        features = max(features, 0.6)
    score = 0.0
    if max(features, samples) > 0.5:
        score = 2.0 if features > samples else -2.0
    elif features >= 0.3 > 3 * samples:
        score = 1.0
    elif samples >= 0.3 > 3 * features or _share(names, _SINGLE.fullmatch) > 0.5:
        score = -1.0
    return NameEvidence(score, numbered, default and score == 0)


def _share(names: Sequence[str], test: Callable[[str], object]) -> float:
    return sum(bool(test(name)) for name in names) / len(names)


def _is_feature(name: str) -> bool:
    if _FEATURE_NAME.fullmatch(name) or name.upper() in _SYMBOLS:
        return True
    return re.split(r"[ ,(]", name.lower())[0] in _SUBSTANCES


def _is_sample(name: str) -> bool:
    if _SAMPLE_NAME.fullmatch(name):
        return not _FEATURE_NAME.fullmatch(name) or name.startswith(("GSM", "TCGA"))
    return not _SAMPLE_TOKENS.isdisjoint(re.split(r"[^a-z]+", name.lower()))
