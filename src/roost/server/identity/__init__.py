"""Who is asking: accounts, passwords, sessions, and what each user may see."""
