"""The servers of the Allen Developing Mouse Brain Atlas as a source of its files."""
