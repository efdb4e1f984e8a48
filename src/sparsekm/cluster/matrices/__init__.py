"""The data as the engine reads them: in memory, sparse, or streamed; and their sums."""
