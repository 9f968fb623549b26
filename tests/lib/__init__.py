"""Modules that several tests and benchmarks share.

A script finds the package by the folder tests/, which it puts first on its path:

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))   # tests/
    from lib import models
"""
