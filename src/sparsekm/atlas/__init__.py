"""The Allen Developing Mouse Brain Atlas: from server files to voxel x gene matrices."""
