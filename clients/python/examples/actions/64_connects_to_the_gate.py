# the gate's address comes on stdin; no way may lead there
import socket
import sys

host, port = sys.stdin.read().strip().rsplit(":", 1)
try:
    socket.create_connection((host, int(port)), timeout=2).close()
    print("CONNECTED")
except OSError:
    print("out of reach")
