"""The protocol between ranks, as state machines without I/O: messages and the time go in, messages come out.

Reading order: ``settings``, ``header``, ``buffers``, ``health``, ``news``, ``network``, ``channel``,
``hot_repair``, ``triangulation``, ``recovery``, ``liveness``, ``closing``, ``engine``. Nothing in here
imports MPI; the tests drive it with a simulated network that drops, delays, kills and revives rails, and
:mod:`r2cc_mpi.driver` drives it with MPI.
"""
