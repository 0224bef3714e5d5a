"""What is sent: schedules of collectives, their mapping to rails, and the oracle that checks both.

Needs the standard library and NumPy, nothing else; in particular no MPI. Suggested reading order: `transfer`,
`schedule`, `collective`, `ring` (the first algorithm), `stripes` and `hot_repair` (transfers put on rails),
`hazards` (which transfers wait for which), `verify` (the oracle).
"""
