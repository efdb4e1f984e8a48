"""Expression matrices: reading users' files, z-scores, the file that clustering starts from."""
