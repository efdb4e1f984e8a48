"""The comparison of tuning rules: its data, what is measured, its tables and its figure."""
