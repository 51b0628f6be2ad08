"""The calculators: exact integers in, exact integers out, standard library only.

What answers are made of (`answers`): `quantity` a number that carries its derivation · `breakdown` a total with named
parts · `explained` figures that follow from each other · `tables` how they look in a notebook.
What is counted on: `layers` what each is made of, computes, saves and caches · `models` lists of layers, by their
configuration, and the calls of those that read images · `hardware` devices, links, levels of memory and
multiprocessors with their sources · `precision` number formats · `units` checks and formatting · `catalogue` reading
the TOML files.
What is counted: `flops` arithmetic · `memory` and `activations` bytes of training and of the cache · `roofline` time
from both and a device · `queues` kernels that are launched, the pace of stages, waiting · `communication` collectives ·
`parallelism` plans of many ranks · `inference` prefill and decode · `optimisation` learning rates · `economics`
utilisation, scaling laws, failures, energy and money.
"""
