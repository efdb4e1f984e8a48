"""The phantom as a source of the atlas's files."""

from __future__ import annotations

import numpy as np

from sparsekm.atlas.phantom.archives import pack_annotation, pack_energy
from sparsekm.atlas.phantom.energies import Canvas, draw_energy, prepare_canvas
from sparsekm.atlas.phantom.genes import plant_genes, tabulate_truth
from sparsekm.atlas.phantom.geometry import build_geometry
from sparsekm.atlas.phantom.listings import genes_document, listing_document
from sparsekm.atlas.phantom.sections import PlantedSection, plant_sections
from sparsekm.atlas.phantom.sizes import get_size
from sparsekm.atlas.phantom.structures import label_voxels, ontology_document
from sparsekm.atlas.vocabulary import get_age
from sparsekm.network import NotFoundError


class PhantomSource:
    """Simulates the files of the atlas's servers from a seed; see `AtlasSource`.

    `size` is "tiny", "default" or "full". The same seed gives the same volumes.
    """

    simulated = True

    def __init__(self, size: str = "default", seed: int = 0):
        if seed < 0:
            raise ValueError(f"seed={seed} should be >= 0.")
        self.size = get_size(size)
        self.seed = seed
        self.planted = plant_genes(self.size.genes, seed)
        self._canvases: dict[str, Canvas] = {}
        self._sections: dict[str, dict[int, PlantedSection]] = {}

    def ontology(self) -> bytes:
        """Return the structure tree."""
        return ontology_document()

    def genes(self) -> bytes:
        """Return the table of genes."""
        return genes_document(self.planted)

    def listing(self, age: str) -> bytes:
        """Return the section data sets of an age, failed and coronal ones included."""
        return listing_document(age, list(self.sections(age).values()))

    def annotation(self, age: str) -> bytes:
        """Return the zip with the annotation of an age."""
        geometry = self.canvas(age).geometry
        nx, ny, nz = geometry.dims
        labels = np.zeros(nx * ny * nz, dtype=np.uint32)
        labels[geometry.index] = label_voxels(age, geometry)
        return pack_annotation(labels.reshape(nz, ny, nx), self.size.ages[age].spacing)

    def energy(self, age: str, section_data_set_id: int) -> bytes:
        """Return the zip with the energy of one section data set."""
        section = self.sections(age).get(section_data_set_id)
        if section is None:
            raise NotFoundError(f"section_data_set_id={section_data_set_id} is not of age {age}.")
        volume = draw_energy(self.canvas(age), section, self.seed)
        spacing = self.size.ages[age].spacing
        return pack_energy(volume, spacing, section.id, has_grid=section.has_grid)

    def describe_url(
        self, role: str, age: str | None = None, section_data_set_id: int | None = None
    ) -> str:
        """Return the origin of a file: size, seed, age and role."""
        parts = (self.size.name, self.seed, age, role, section_data_set_id)
        return "phantom:" + "/".join(str(part) for part in parts if part is not None)

    def truth(self, age: str) -> bytes:
        """Return the planted truth at an age as CSV."""
        present = set(self.size.ages[age].region_voxels)
        return tabulate_truth(age, self.planted, present).to_csv(index=False).encode()

    def sections(self, age: str) -> dict[int, PlantedSection]:
        """Return the section data sets of an age by id, made on first use."""
        if age not in self._sections:
            planted = plant_sections(get_age(age).name, self.planted, self.seed)
            self._sections[age] = {section.id: section for section in planted}
        return self._sections[age]

    def canvas(self, age: str) -> Canvas:
        """Return the geometry and patterns of an age, made on first use."""
        if age not in self._canvases:
            geometry = build_geometry(get_age(age).name, self.size.ages[age])
            numbers = self.size.genes
            self._canvases[age] = prepare_canvas(
                age, geometry, numbers.n_modules, self.size.edge_missing, self.seed
            )
        return self._canvases[age]
