"""Pieces that several compared methods share."""
