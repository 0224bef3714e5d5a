"""What it must cost: closed forms for the algorithms of `algorithms`. Needs no MPI."""
