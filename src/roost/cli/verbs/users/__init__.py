"""Verbs about users: accounts, logins, usage, the audit."""
