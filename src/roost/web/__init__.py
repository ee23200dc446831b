"""What a browser gets: the dashboard, which is built from `web/`, and the pages before it, which need no script."""
