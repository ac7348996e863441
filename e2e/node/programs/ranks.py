"""What mpirun starts: all ranks add up their numbers over the network and say where each of them runs."""

from __future__ import annotations

import socket
import sys

from mpi4py import MPI

if __name__ == "__main__":
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    if world.allreduce(rank) != sum(range(size)):
        sys.exit("the sum of all ranks is wrong")
    places = world.allgather(f"{rank}/{size}@{socket.gethostname()}")
    if rank == 0:
        print(f"{socket.gethostname()} met {' '.join(places)}", flush=True)
