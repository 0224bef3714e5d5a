"""What `r2cc doctor` finds out about a machine.

Every file here has two halves: a function that looks, and one that judges what was seen and does nothing
else, so that every finding can be tested without the machine that has it. Whatever starts MPI, CUDA or RDMA
does so in a process of its own, with a time limit.
"""
