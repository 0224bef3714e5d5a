"""A test network whose links are real and really die: nodes, rails and switches out of Linux namespaces.

Reading order: `shape` (what is wanted), `kernel` (what Linux is asked for), `build` (how a network is made of
it), `links` (what a rail is doing), `testbed` (what one does with a network), `job` (MPI across its nodes),
`command_line` (the words of `scripts/testbed`).
"""
