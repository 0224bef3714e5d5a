"""What is sent: schedules of collectives, their mapping to rails, and the oracle that checks both.

Needs the standard library and NumPy, nothing else; in particular no MPI. Suggested reading order: `transfer`,
`schedule`, `collective`, `ring` (the first algorithm), `stripes`, `hot_repair`, `balance` (transfers put on
rails), `re_ranking`, `r2cc_allreduce`, `hazards` (which transfers wait for which), `verify` (the oracle).
`catalogue` has all algorithms by name; docs/algorithms.md tells their story.
"""
