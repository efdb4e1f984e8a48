"""The console command ``sparsekm``, which turns a table into a report."""
