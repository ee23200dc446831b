"""The server as a process: sockets, TLS, the lock of a home, the service manager."""
