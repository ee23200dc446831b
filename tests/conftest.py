"""What holds for all tests: signals have their usual effect in what they start, and this machine's people are nobody."""

import signal

from tests.hidden_accounts import hide_people

# A shell starts what it puts in the background with these ignored, and every program that is started there inherits it.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
hide_people()
