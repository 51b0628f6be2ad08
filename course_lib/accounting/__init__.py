"""The calculators: exact integers in, exact integers out, standard library only.

What answers are made of: `breakdown` a total with named parts · `compare` two of them · `explained` figures that carry
their derivation · `tables` how both look in a notebook · `units` checks and formatting.
What is counted on: `models` and `convnet` architectures · `hardware` devices, links, levels of memory and
multiprocessors with their sources · `precision` number formats · `catalogue` reading the two TOML files.
What is counted: `flops` arithmetic · `memory` and `tape` bytes of training and of the cache · `roofline` time from
both and a device · `operations` the calls of an image model · `communication` collectives · `parallelism` plans of
many ranks · `inference` prefill and decode · `economics` utilisation, scaling laws, failures, energy and money.
"""
