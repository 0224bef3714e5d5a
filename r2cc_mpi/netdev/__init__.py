"""Rails on the machine's own network interfaces: what the kernel knows of them, and whether they make rails.

MPI carries the messages as ever, each rank's tied to one interface (:mod:`r2cc_mpi.pinning`). This folder
asks Linux for the rest: interfaces that go down and come back (`netlink`, `link_watch`), what they carried,
and how fast they are (`ethtool`); `rails` puts it together for a rank and for all ranks.
"""
