"""HTTP: routes and their schemas over the parts of a server. Decides nothing; one shape for every error."""
