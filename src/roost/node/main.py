"""The command line of the node program. Imports the daemon only when it is one: `attach` must be quick."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import List, Optional

from roost.node.claims.modes import MODES, default_mode
from roost.node.commands.attach import Wish, attach, own_command
from roost.node.state_dir import AlreadyServed, StateDir, StateError, prepare, read_text, write_text


def main(argv: Optional[List[str]] = None, program: Optional[str] = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["sim-job"]:
        from roost.node.commands import sim_job

        return sim_job.run(arguments[1:])
    options = _parser().parse_args(arguments)
    program = program or _program_of_source()
    try:
        acts = {"attach": _attach, "daemon": _daemon, "become": _become, "evict": _evict, "check": _check}
        return acts[options.verb](options, program)
    except StateError as problem:
        print(f"roost-node: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="roost-node", description="Runs jobs on this machine for a Roost server.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, words in (("attach", "speak to the daemon over stdin and stdout"), ("daemon", "be the daemon")):
        one = verbs.add_parser(verb, help=words)
        one.add_argument("--state", required=True, metavar="DIR", help="the state directory")
        one.add_argument("--sim", metavar="SPEC", help="simulated GPUs: 4x24G, 2x80G,1x24G, lab:4x24G; `off` for real ones")
        one.add_argument("--no-cgroup", action="store_true", help="keep runs together without cgroups")
        one.add_argument("--identity", metavar="NAME", help="work as an account under a root server's own program")
        one.add_argument("--cgroup", metavar="DIR", help="the cgroup that root has made for this account's runs")
        one.add_argument("--helper-fd", type=int, help=argparse.SUPPRESS)  # of root's helper, which makes those of the runs
        one.add_argument("--sim-dir", metavar="DIR", help="where simulated GPUs are kept, if not in the state directory")
        one.add_argument("--claims", choices=MODES, help="which GPUs to claim (default: root all, others what they use)")
        one.add_argument("--epoch", metavar="TOKEN", default="", help="which state of which server asks")
        one.add_argument("--leave-s", type=float, metavar="S", help="leave after so long without a server and without a run")
    other = verbs.add_parser("become", help="as root: attach as another account")
    for name in ("--account", "--state", "--identity"):
        other.add_argument(name, required=True)
    other.add_argument("--sim")
    other.add_argument("--sim-dir")
    other.add_argument("--epoch", default="")
    last = verbs.add_parser("evict", help="as root: end a run that an account's own program does not end")
    for name in ("--account", "--identity", "--run"):
        last.add_argument(name, required=True)
    last.add_argument("--seen", type=int, nargs="*", default=[], metavar="PID")
    look = verbs.add_parser("check", help="print what this machine offers and lacks, as one JSON object")
    look.add_argument("--state", required=True, metavar="DIR", help="the state directory; it need not exist")
    look.add_argument("--accounts", default="", metavar="NAMES", help="accounts to look for, with commas between them")
    look.add_argument("--sim", metavar="SPEC", help="simulated GPUs, as of attach")
    verbs.choices["daemon"].add_argument("--ready-fd", type=int, help=argparse.SUPPRESS)
    return parser


def _become(options: argparse.Namespace, _: str) -> int:
    from roost.node.commands.attach_as import become

    rest = ["--sim", options.sim] if options.sim else []
    rest += ["--sim-dir", options.sim_dir] if options.sim_dir else []
    rest += ["--epoch", options.epoch] if options.epoch else []
    become(options.account, options.state, options.identity, os.path.abspath(sys.argv[0]), rest)
    return 1


def _evict(options: argparse.Namespace, _: str) -> int:
    from roost.node.commands.evict import evict

    return 0 if evict(options.account, options.identity, options.run, options.seen) else 1


def _check(options: argparse.Namespace, program: str) -> int:
    from roost.node.commands.check import check

    accounts = [name for name in options.accounts.split(",") if name]
    sim = None if options.sim == "off" else _check_sim(options.sim)
    check(StateDir(options.state).path, accounts, sim, program)
    return 0


def _attach(options: argparse.Namespace, program: str) -> int:
    state = StateDir(options.state)
    sim = _check_sim(options.sim)
    command = [*own_command(), "daemon", "--state", state.path]
    command += ["--sim", sim] if sim is not None else []
    command += ["--no-cgroup"] if options.no_cgroup else []
    for name in ("claims", "identity", "cgroup", "helper_fd", "sim_dir", "leave_s"):
        value = getattr(options, name)
        command += ["--" + name.replace("_", "-"), str(value)] if value is not None else []
    attach(Wish(state, program, sim, command, options.epoch, options.helper_fd))
    return 0


def _daemon(options: argparse.Namespace, program: str) -> int:
    from roost.node.daemon.assembly import Options, serve
    from roost.node.system.libc import close_all_but

    state = StateDir(options.state)

    def say(text: str) -> None:
        if options.ready_fd is not None:
            os.write(options.ready_fd, text.encode("utf-8", "replace"))
            os.close(options.ready_fd)
            options.ready_fd = None

    kept = {fd for fd in (options.ready_fd, options.helper_fd) if fd is not None}
    close_all_but(kept)  # the parent may have left some open; jobs would inherit them
    try:
        for fd in kept:
            os.set_inheritable(fd, False)
        prepare(state)
        sim = remember_sim(state, _check_sim(options.sim))
        claims = options.claims or default_mode()
        asked = Options(program, sim, not options.no_cgroup, claims, options.identity, options.cgroup, options.sim_dir)
        asked = asked._replace(helper_fd=options.helper_fd)
        if options.leave_s is not None:
            asked = asked._replace(leave_s=options.leave_s)
        serve(state, asked, lambda: say("ready"))
    except AlreadyServed:
        say("busy")
        return 75
    except (StateError, OSError, ValueError) as problem:
        say(str(problem))
        raise StateError(str(problem)) from None
    return 0


def remember_sim(state: StateDir, asked: Optional[str]) -> Optional[str]:
    """The simulation of this state directory: what is asked now, else what was asked last."""
    if asked == "off":
        if os.path.exists(state.sim_spec):
            os.unlink(state.sim_spec)
        return None
    if asked is not None:
        write_text(state.sim_spec, json.dumps({"spec": asked}) + "\n")
        return asked
    try:
        known = json.loads(read_text(state.sim_spec) or "{}").get("spec")
    except (ValueError, AttributeError):
        return None
    return known if isinstance(known, str) else None


def _check_sim(text: Optional[str]) -> Optional[str]:
    if text is None or text == "off":
        return text
    from roost.node.gpus.simulated import parse_sim_spec

    try:
        parse_sim_spec(text)
    except ValueError as problem:
        raise StateError(str(problem)) from None
    return text


def _program_of_source() -> str:
    from roost.node.build import program_hash, source_files

    return program_hash(source_files())
