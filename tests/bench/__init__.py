"""Benchmarks: peers and Warded in one run, interleaved. See tests/bench/run."""
