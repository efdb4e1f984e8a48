"""The tiny phantom's files, and a stand-in for the servers that sends some of them."""

from collections import Counter
from functools import cache

import pytest
from hand_made import AGE
from stand_in_server import StandInServer

from sparsekm.atlas import AGES, open_source
from sparsekm.atlas.expression import assemble_age, read_tables
from sparsekm.atlas.phantom.source import PhantomSource
from sparsekm.atlas.retrieval import retrieve_age, retrieve_tables


@pytest.fixture(scope="session")
def tiny_phantom():
    return open_source("phantom", size="tiny", seed=3)


@pytest.fixture(scope="session")
def phantom_files(tiny_phantom, tmp_path_factory):
    """The tiny phantom's files at two ages; tests must not change them."""
    root = tmp_path_factory.mktemp("phantom")
    retrieve_tables(tiny_phantom, root)
    for age in (AGE, "P14"):
        retrieve_age(tiny_phantom, age, root / age)
    return root


@pytest.fixture(scope="session")
def ontology(phantom_files):
    return read_tables(phantom_files)[0]


class FewSections(PhantomSource):
    """The tiny phantom with eight genes at each age, which draws each grid once."""

    def __init__(self):
        super().__init__("tiny", seed=3)
        self._every = self.sections
        self.sections = cache(self._choose)
        self.annotation, self.energy = cache(self.annotation), cache(self.energy)

    def _choose(self, age):
        """Take all data sets of the genes with most of them, so that there are replicates."""
        sections = [s for s in self._every(age).values() if s.has_grid]
        genes = Counter(s.gene.id for s in sections if not s.failed and s.plane == "sagittal")
        taken = {gene for gene, _ in genes.most_common(8)}
        return {section.id: section for section in sections if section.gene.id in taken}


@pytest.fixture(scope="session")
def few_sections():
    return FewSections()


@pytest.fixture(scope="session")
def _server(few_sections):
    with StandInServer(few_sections, AGES) as server:
        yield server


@pytest.fixture
def server(_server):
    _server.work_well()
    yield _server
    _server.work_well()


@pytest.fixture
def slept():
    """The seconds that a client has waited, in a world where waiting takes no time."""
    return []


@pytest.fixture
def open_client(server, slept):
    """Give a source on the stand-in that waits in `slept` alone."""
    servers = {"url": server.url, "download_url": server.url, "sleep": slept.append}
    return lambda **settings: open_source("allen", **servers | settings)


@pytest.fixture(scope="session")
def direct(few_sections, ontology, tmp_path_factory):
    """The manifest and the matrix of an age from the phantom's files, with no server."""
    folder = tmp_path_factory.mktemp("direct")
    return retrieve_age(few_sections, AGE, folder), assemble_age(folder, ontology, AGE)


@pytest.fixture(scope="session")
def planted(direct):
    return direct[1]


@pytest.fixture
def fetch(open_client, tmp_path, ontology):
    """Fetch an age from the server and assemble it; further settings go to the client."""

    def run(max_not_fetched=0, **settings):
        retrieve_age(open_client(**settings), AGE, tmp_path / AGE, max_not_fetched=max_not_fetched)
        return assemble_age(tmp_path / AGE, ontology, AGE)

    return run
