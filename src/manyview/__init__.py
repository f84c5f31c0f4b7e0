"""Large-scale multi-view clustering."""
