"""The console command: from a table to a report."""
