"""The authors' experiments, and what else wants links that really die, on test networks of namespaces.

Reading order: `task` (what the ranks are to do), `ranks` (the program that does it), `record` (what they give
back), `session` (running it while links are cut from outside), `setting` (the network, and what formulas say
of it). Then one file for each experiment: `experiments`, `table4`, `detection`, `heal`, `side_by_side` (with
`library_ranks`), `cuts`. `command_line` is the way in.
"""
