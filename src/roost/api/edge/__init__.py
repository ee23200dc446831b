"""Who may come in, and how much of it: authentication, limits, headers, cookies. Before any route."""
