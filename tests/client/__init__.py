"""Tests of the Python client, against a fake gate of its own."""
