"""Commands of other tools and their Roost equivalents. Only for hints: none of them is a verb."""

TWO_WORDS = {
    "force stop": "scheduler pause",
    "force exit": "down --kill",
    "add device": "gpu enable 2 3",
    "remove device": "gpu disable 2 3",
    "add node": "node add lab3 ssh://root@10.0.0.3",
    "add server": "node add lab3 ssh://root@10.0.0.3",
    "remove node": "node rm lab3",
    "remove server": "node rm lab3",
    "clear cache": "help",
    "schedule fifo": "policy fifo",
    "schedule balance": "policy balance",
    "save state": "backup state.db",
    "load state": "restore state.db",
}
"""Two-word commands; some begin with a Roost verb that does something else."""

FORMER = {
    # GPU Man(ager)'s admin console
    "useradd": "user add ana",
    "addusers": "user add ana bob",
    "userdel": "user del ana",
    "suadd": "user admin ana",
    "sudel": "user admin ana --off",
    "lockuser": "user lock ana",
    "unlockuser": "user unlock ana",
    "exit": "down",
    "force": "scheduler pause",
    "clear": "help",
    "create": "submit python train.py",
    "update": "edit 12 --time 2h",
    "lock": "user lock ana",
    "unlock": "user unlock ana",
    "dump": "archive --to done.jsonl",
    "dumpuser": "archive --user ana --to done.jsonl",
    "dumptask": "archive 12 --to done.jsonl",
    "save": "backup state.db",
    "load": "restore state.db",
    "schedule": "policy balance",
    "reschedule": "scheduler",
    "prompt": "notice 'reboot at 18:00'",
    "query": "ls --user ana",
    "userinfo": "users",
    "setting": "defaults",
    # GPU Tasker has a form for it; the field's name
    "servers": "nodes",
    "server": "node add lab3 ssh://root@10.0.0.3",
    # gpulimit
    "add": "submit python train.py",
    "mv": "move 12 0",
    "debug": "show 12",
}
