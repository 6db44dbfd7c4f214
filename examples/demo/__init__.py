"""One query over a year of flights, in this process and on Spark: `python -m examples.demo`, or `make demo`."""
