"""One job, many points: parameters, filters and templates."""
