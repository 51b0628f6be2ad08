"""The calculators: exact integers in, exact integers out, standard library only.

`breakdown` a total with named parts · `units` checks and formatting · `precision` bytes of a dtype · `hardware` devices
and their sources · `models` and `convnet` architectures · `flops` arithmetic · `roofline` time from FLOPs, bytes and a device.
"""
