"""Tests of protoc-gen-warded: what it refuses, what it writes."""
