"""Alembic's entry point: runs on the connection that the store hands over, inside of the transaction that it has begun."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
