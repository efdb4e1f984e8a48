"""Shared by the scripts that read a gap curve off paths and references: one stage or two."""


def read_stages(stages, **further):
    """Join stages of (path, references); return the path, its gap curve and its attributes.

    The attributes are those of the first stage, `further` ones, and those of the references.
    """
    from sparsekm.io.path_file import read_path
    from sparsekm.io.reference_file import References
    from sparsekm.tuning.gap import gap_curve, join_stages

    paths, objectives = [], []
    for file, batches in reversed(stages):
        path, attributes = read_path(file)
        references = References.read(batches)
        references.check_grid(batches[0], path.sparsities)
        paths.insert(0, path)
        objectives.insert(0, references.objectives)
    path, joined = join_stages(paths, objectives)
    gap = gap_curve(path.sparsities, path.n_selected, path.first_objectives, joined)
    attributes.update(
        further,
        reference=references.attributes["reference"],
        n_references=len(references.indices),
    )
    if len(paths) > 1:
        attributes["n_refined"] = len(paths[1].sparsities)
    return path, gap, attributes
