"""`python -m roost.node`: the same program as `roost-node.pyz`."""

from roost.node.main import main

if __name__ == "__main__":
    raise SystemExit(main())
