"""Reading an ontology in OBO format (go-basic.obo): names, ancestors and obsolete terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from sparsekm.annotation.text_lines import GeneSetError, at, read_lines


@dataclass
class Term:
    """A term of the file; ``parents`` maps each parent to the line that names it."""

    id: str
    name: str = ""
    parents: dict[str, int] = field(default_factory=dict)
    alternatives: dict[str, int] = field(default_factory=dict)
    is_obsolete: bool = False


@dataclass(frozen=True)
class TermTree:
    """Terms by id, including obsolete ones, and the ancestors of each current term with itself.

    `alternatives` maps other ids of a term to its id.
    """

    terms: dict[str, Term]
    ancestors: dict[str, frozenset[str]]
    alternatives: dict[str, str]

    def resolve(self, term: str) -> Term | None:
        """Find a term by its id or an alternative id; None if there is none."""
        return self.terms.get(self.alternatives.get(term, term))


def read_obo(file: str | Path) -> TermTree:
    """Read an ontology, compressed by gzip or not.

    The relations ``is_a`` and ``part_of`` lead to ancestors: a gene involved in a part is involved
    in the whole, but a gene that regulates a process need not be part of it.
    """
    terms = {}
    for term, number in _read_terms(file):
        if term.id in terms:
            raise GeneSetError(f"{at(file, number)}: id={term.id!r} occurs twice.")
        terms[term.id] = term
    if not terms:
        raise GeneSetError(f"{file}: terms=0 should be >= 1.")
    alternatives = {}
    for term in terms.values():
        for other, number in term.alternatives.items():
            # A term that was merged into another may still be in the file, as obsolete.
            taken = other in terms and not terms[other].is_obsolete
            if taken or alternatives.get(other, term.id) != term.id:
                raise GeneSetError(
                    f"{at(file, number)}: alt_id={other!r} of {term.id} also belongs to another "
                    "term."
                )
            alternatives[other] = term.id
    return TermTree(terms, _find_ancestors(file, terms), alternatives)


def _read_terms(file: str | Path) -> Iterator[tuple[Term, int]]:
    """Yield each term with the line of its id."""
    stanza, term, started, id_line = None, None, 0, 0
    for number, line in read_lines(file):
        line = line.strip()
        if number == 1 and not line.startswith("format-version:"):
            raise GeneSetError(f"{at(file, 1)}: {line[:40]!r} should be an OBO format-version.")
        if line.startswith("["):
            if stanza == "[Term]":
                yield _checked(file, term, started), id_line
            stanza, term, started = line, Term(""), number
        elif stanza == "[Term]" and line and not line.startswith("!"):
            tag, colon, value = line.partition(":")
            if not colon:
                raise GeneSetError(f"{at(file, number)}: {line[:40]!r} should be tag: value.")
            if tag == "id":
                id_line = number
            _take(term, tag, value.strip(), number)
    if stanza == "[Term]":
        yield _checked(file, term, started), id_line


def _checked(file: str | Path, term: Term, number: int) -> Term:
    if not term.id:
        raise GeneSetError(f"{at(file, number)}: the term should have an id.")
    return term


def _take(term: Term, tag: str, value: str, number: int) -> None:
    # Text after " !" is a comment, except in a name.
    bare = value.partition(" !")[0].partition(" {")[0].strip()
    if tag == "id":
        term.id = bare
    elif tag == "name":
        term.name = value
    elif tag == "alt_id":
        term.alternatives[bare] = number
    elif tag == "is_obsolete":
        term.is_obsolete = bare == "true"
    elif tag == "is_a":
        term.parents[bare] = number
    elif tag == "relationship":
        relation, _, parent = bare.partition(" ")
        if relation == "part_of":
            term.parents[parent.strip()] = number


def _find_ancestors(file: str | Path, terms: dict[str, Term]) -> dict[str, frozenset[str]]:
    """Join every current term with the ancestors of its parents, parents first."""
    current = [term for term in terms.values() if not term.is_obsolete]
    for term in current:
        for parent, number in term.parents.items():
            if parent not in terms or terms[parent].is_obsolete:
                what = "no term of the file" if parent not in terms else "obsolete"
                raise GeneSetError(f"{at(file, number)}: parent {parent!r} of {term.id} is {what}.")
    try:
        order = [*TopologicalSorter({term.id: term.parents for term in current}).static_order()]
    except CycleError as error:
        parent, child = error.args[1][:2]
        raise GeneSetError(
            f"{at(file, terms[child].parents[parent])}: {parent} as an ancestor of {child} closes "
            "a circle."
        ) from error
    found: dict[str, frozenset[str]] = {}
    for name in order:
        found[name] = frozenset({name}).union(*(found[parent] for parent in terms[name].parents))
    return found
