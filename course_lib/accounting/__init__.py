"""The calculators: exact integers in, exact integers out, standard library only.

What answers are made of: `quantity` a number that carries its derivation · `breakdown` a total with named parts ·
`explained` figures that follow from each other · `tables` how both look in a notebook · `units` checks and formatting.
What is counted on: `layers` what each is made of, computes, saves and caches · `models` and `convnet` lists of layers,
by their configuration · `hardware` devices, links, levels of memory and multiprocessors with their sources ·
`precision` number formats · `catalogue` reading the TOML files.
What is counted: `flops` arithmetic · `memory` bytes of training and of the cache · `roofline` time from both and a
device · `launch` kernels in a queue · `pipeline` the pace of stages · `queueing` waiting · `operations` the calls of an
image model · `optimisation` learning rates · `communication` collectives · `parallelism` plans of many ranks ·
`inference` prefill and decode · `economics` utilisation, scaling laws, failures, energy and money.
"""
