"""Keeps training from taking a machine for itself; to be called before JAX is imported."""

import os

CORES = 2
"""What the recipe's time is told for."""


def two_cores() -> None:
    """This process and its threads run on two cores, JAX on the CPU."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[:CORES])
