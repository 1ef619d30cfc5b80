"""The lints: each finds the faults that are sown, and lets the like of them pass."""
