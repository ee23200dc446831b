"""HTTP: routes and their schemas over the service. Decides nothing; one shape for every error."""
