"""What a query needs (`plan`), what it knows of each key (`state`), and one step: rows in, results out (`step`)."""
