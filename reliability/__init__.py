"""Hard to break, measured: kills, faults, hostile files, load, coverage, mutants.

``python -m reliability`` runs the parts with scaled counts and writes
``docs/reliability.md``; ``--full`` runs the full counts. Every part is one file
with a function ``measure`` that returns a `record.Part`.
"""
