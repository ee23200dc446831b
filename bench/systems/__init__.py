"""The systems that are measured: one file each, all behind the port in `port.py`."""
