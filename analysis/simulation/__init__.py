"""Parts of the simulator; `analysis.simulator` is its door.

Reading order: `rules` (the choices), `tasks` (a mapped schedule as tasks that occupy ports), `order` (which
task waits for which), `clock` (exact time in integer ticks), `ports` (the event loop), `fluid` (the same with
shared ports), `loops` and `accelerator` (the same for numba to compile), `timeline` (the result),
`critical_path` (why it took so long), `failures` (NICs that change on the way).
"""
