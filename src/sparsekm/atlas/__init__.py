"""The Allen Developing Mouse Brain Atlas: from the servers' files to voxel x gene matrices."""
