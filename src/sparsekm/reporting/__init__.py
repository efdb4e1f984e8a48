"""From the files of a run to figures, tables and one HTML report."""
