"""Collectives that survive the death of a NIC, on mpi4py: R2CC (arXiv 2512.25059) and OptCC (arXiv 2606.01680)."""
