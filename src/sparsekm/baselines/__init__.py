"""Methods that sparse k-means is compared with."""
