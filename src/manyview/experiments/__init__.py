"""Comparison table, ablation, sensitivity, learning process, cost, order audit.

One engine and one result format serve them all. An experiment lists `Run`s,
`execute` runs those that have no result yet, each in a process of its own, and
the experiment turns the records into tables and figures::

    runs ──► execute ──► results.jsonl ──► tables, figures

Adding an experiment is one short file with those two ends.
"""
