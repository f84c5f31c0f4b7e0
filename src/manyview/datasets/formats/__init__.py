"""Readers, one file format each."""
