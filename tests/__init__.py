"""Tests of Warded; tests/run.sh runs them."""
