"""k-means as passes over blocks."""
