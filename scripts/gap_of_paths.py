"""Shared by the scripts that read a gap curve off a path and its references."""


def read_gap(files):
    """Return the path, its gap curve, and the attributes of the path and of the references."""
    from sparsekm.io.store import References, read_path
    from sparsekm.tuning.gap import gap_curve

    path, attributes = read_path(files.path)
    references = References.read(files.references, path.sparsities)
    gap = gap_curve(path.sparsities, path.n_selected, path.first_objectives, references.objectives)
    attributes["reference"] = references.attributes["reference"]
    attributes["n_references"] = len(references.indices)
    return path, gap, attributes
