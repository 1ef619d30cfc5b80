"""What tests/run.sh runs: finds, selects and runs every test, and counts."""
