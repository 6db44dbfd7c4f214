"""The scripts in examples/."""
