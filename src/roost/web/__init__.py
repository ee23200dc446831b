"""The pages of a server, made here and needing no script: coming in, one's account, and what there is at a glance."""
