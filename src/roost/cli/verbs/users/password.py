"""roost password: set your password for logins from other machines."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime import prompt
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce

VERB = Verb(
    "password",
    "set your password for logins from other machines",
    examples=(("roost password", "asks twice"), ("roost password < file", "the first line of a file")),
    about="At least ten characters, and not a common password. On the server's own machine\n"
    "you need no password. With a token, enter the old password first (two lines).",
)


def run(args: Args) -> int:
    """Ask, and set it."""
    people = (roost := server()).people
    me = people.me()
    needs_old = me["via"] != "socket" and roost.user(me["user"])["password"]
    old = prompt.secret("cli.ask_old_password") if needs_old else None
    people.set_password(prompt.new_password(), old)
    announce("cli.password_set", user=me["user"])
    return 0
