"""The papers' tables and figures, computed again: one file for each, `build` gives its report.

Reading order: `report` (what a report is), `table1` (the shortest one), `text` and `machine` (how one is
written).
"""
