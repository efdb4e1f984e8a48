"""The comparison of tuning rules: its data, measures, tables and figure."""
