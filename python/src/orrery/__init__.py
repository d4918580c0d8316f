"""Orrery: what a workload costs on a machine, and which mapping costs least."""
