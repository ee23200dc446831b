"""roost password: set the password for your own logins from elsewhere."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime import prompt
from roost.cli.runtime.connect import server
from roost.cli.text.output import note

VERB = Verb(
    "password",
    "set your password, for logins from elsewhere",
    examples=(("roost password", "asks for it twice"), ("roost password < file", "the first line of a file")),
    about="At least ten characters, and nothing that is guessed first. On the server's own\n"
    "machine you need none. Logged in by a token, give the old one first (two lines).",
)


def run(args: Args) -> int:
    """Ask, and set it."""
    people = (roost := server()).people
    me = people.me()
    needs_old = me["via"] != "socket" and roost.user(me["user"])["password"]
    old = prompt.secret("Old password") if needs_old else None
    people.set_password(prompt.new_password(), old)
    note(f"roost: the password of {me['user']} is set; browsers that were logged in are logged out")
    return 0
