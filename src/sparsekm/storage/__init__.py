"""The workflow's files: one module defines each format, its writer and its checking reader."""
