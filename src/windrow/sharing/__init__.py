"""How many windows share work: discretizer, slicing, the store of partials, the shared plan.

Two forms of the same: `aggregator` takes one row at a time, beside the papers' pseudocode, and counts what they count;
the other modules do it for batches of rows and many keys.
"""
