"""Names, ids and number types of the Allen Developing Mouse Brain Atlas, as its servers use them.

Grid dimensions are not included on purpose: they are read from the header of each file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PRODUCT_ID = 3
PRODUCT = "DevMouse"
PRODUCT_NAME = "Developing Mouse Brain"
TREATMENT = "ISH"
ORGANISM_ID = 2

PLANES = {"coronal": 1, "sagittal": 2}

STRUCTURE_GRAPH_ID = 17
ONTOLOGY_ID = 12
ROOT_ID = 15564
NEURAL_PLATE_ID = 15565
SPINAL_CORD_ID = 17651
TRACTS_ID = 17735
VENTRICLES_ID = 126651558
REGION_LEVEL = 3

TISSUES = ("brain", "spinal_cord", "ventricle", "tract")

ENERGY_MEMBER = "energy"
ANNOTATION_MEMBER = "gridAnnotation"
ENERGY_DTYPE = np.dtype("<f4")
ANNOTATION_DTYPE = np.dtype("<u4")
ELEMENT_DTYPES = {"MET_FLOAT": ENERGY_DTYPE, "MET_UINT": ANNOTATION_DTYPE}

NO_DATA = -1.0
"""Energy of a voxel that no section covers; 0 means no measured expression."""


@dataclass(frozen=True)
class Age:
    """One age of the atlas."""

    name: str  # as in the servers' `Age.name`, for instance ``"E11.5"``
    days: float  # days after conception, birth counted as day 19
    reference_space_id: int  # the three-dimensional space its grids live in

    @property
    def file_name(self) -> str:
        """The age in file names: ``"E11pt5"``."""
        return self.name.replace(".", "pt")

    @property
    def annotation_file(self) -> str:
        """Name of the zip with the grid annotation of this age."""
        return f"{self.file_name}_DevMouse2012_gridAnnotation.zip"

    @property
    def embryonic(self) -> bool:
        """Whether the age is before birth."""
        return self.name.startswith("E")


AGES = {
    age.name: age
    for age in (
        Age("E11.5", 11.5, 1),
        Age("E13.5", 13.5, 2),
        Age("E15.5", 15.5, 3),
        Age("E18.5", 18.5, 5),
        Age("P4", 23.0, 6),
        Age("P14", 33.0, 7),
        Age("P28", 47.0, 8),
    )
}
"""The seven main ages, in the order of development."""


def get_age(name: str) -> Age:
    """Return an age by its name."""
    try:
        return AGES[name]
    except KeyError:
        raise ValueError(f"age={name!r} should be one of {', '.join(AGES)}.") from None
