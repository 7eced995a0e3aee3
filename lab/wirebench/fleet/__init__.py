"""Several hosts: whole blocks of a run go to workers on other machines, over Dask ``distributed``.

The measured path stays what it is on one machine: each host runs its blocks with the lab's own code
in a process of its own. Dask carries orders and results, and is still in between.
"""
