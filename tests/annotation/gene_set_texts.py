"""A small ontology, and lines of annotations with its terms, as the files have them."""

OBO = """format-version: 1.2
! a remark

[Term]
id: GO:0000001
name: root
namespace: process

[Term]
id: GO:0000002
name: whole ! with a mark
alt_id: GO:0000022
is_a: GO:0000001 {source="x"} ! root

[Term]
id: GO:0000003
name: part
relationship: part_of GO:0000002 ! whole
relationship: regulates GO:0000004 ! other

[Term]
id: GO:0000004
name: other
is_a: GO:0000001 ! root

[Term]
id: GO:0000005
name: obsolete old
is_obsolete: true

[Typedef]
id: part_of
name: part of
"""


def gaf_line(symbol="Aa", term="GO:0000003", relation="involved_in", evidence="IDA", synonyms=""):
    cells = ["MGI", "MGI:1", symbol, relation, term, "REF:1", evidence, "", "P", "", synonyms]
    return "\t".join([*cells, "protein", "taxon:10090", "20200101", "MGI", "", ""])


def gene2go_line(tax="10090", gene="11", term="GO:0000003", evidence="IDA", qualifier="-"):
    return "\t".join([tax, gene, term, evidence, qualifier, "name", "-", "Process"])


GENE2GO_HEADER = "#tax_id\tGeneID\tGO_ID\tEvidence\tQualifier\tGO_term\tPubMed\tCategory"
