"""The data in the forms that the engine reads (in memory, sparse, or streamed), and their sums."""
