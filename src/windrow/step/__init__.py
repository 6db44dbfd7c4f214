"""One state, one step: what a query needs (`plan`), what it knows of each key (`state`), rows in and results out (`step`)."""
