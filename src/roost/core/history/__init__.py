"""How the past is kept small: thinned samples, the course of a run, usage by week."""
