"""What the aggregates of a query share: which are computed together, and by which passes."""
