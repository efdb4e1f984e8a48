"""The phantom's answers to queries: the section data sets of an age, and the genes."""

from __future__ import annotations

from sparsekm.atlas.envelope import write_envelope
from sparsekm.atlas.phantom.genes import PlantedGene
from sparsekm.atlas.phantom.sections import PlantedSection
from sparsekm.atlas.vocabulary import AGES, ORGANISM_ID, PLANES, TREATMENT, Age


def listing_document(age: str, sections: list[PlantedSection]) -> bytes:
    """Write the listing of an age in the servers' format, with one row repeated as by a join."""
    rows = [_listing_row(AGES[age], section) for section in sections]
    rows.append(rows[len(rows) // 2])
    return write_envelope(rows)


def genes_document(genes: list[PlantedGene]) -> bytes:
    """Write the table of genes in the servers' format."""
    return write_envelope(
        [
            {
                "id": gene.id,
                "acronym": gene.symbol,
                "name": gene.name,
                "entrez_id": gene.entrez_id,
                "organism_id": ORGANISM_ID,
                "ensembl_id": None,
                "alias_tags": f"phantom{gene.number + 1} P{gene.number + 1}",
            }
            for gene in genes
        ]
    )


def _listing_row(age: Age, section: PlantedSection) -> dict:
    gene = section.gene
    short = {"id": gene.id, "acronym": gene.symbol, "entrez_id": gene.entrez_id}
    probe = {"id": gene.id + 1_000_000, "gene_id": gene.id, "name": f"PH_{gene.number + 1:04d}"}
    age_row = {"id": age.reference_space_id, "name": age.name, "days": age.days}
    return {
        "id": section.id,
        "name": None,
        "failed": section.failed,
        "delegate": section.delegate,
        "expression": True,
        "plane_of_section_id": PLANES[section.plane],
        "reference_space_id": age.reference_space_id,
        "section_thickness": 20.0,
        "specimen_id": section.id + 1_000_000,
        "qc_date": section.qc_date,
        "storage_directory": f"/phantom/image_series_{section.id}/",
        "genes": [{**short, "name": gene.name, "organism_id": ORGANISM_ID, "ensembl_id": None}],
        "probes": [{**probe, "probe_type": "RNA", "gene": short}] if gene.has_probe else [],
        "plane_of_section": {"id": PLANES[section.plane], "name": section.plane},
        "reference_space": {"id": age.reference_space_id, "name": age.name},
        "treatments": [{"id": 1, "name": TREATMENT}],
        "specimen": {
            "id": section.id + 1_000_000,
            "name": "phantom",
            "donor": {"age": {**age_row, "embryonic": age.embryonic, "organism_id": ORGANISM_ID}},
        },
    }
