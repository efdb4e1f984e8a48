"""The simulations of the paper: settings, repetitions, tables."""
