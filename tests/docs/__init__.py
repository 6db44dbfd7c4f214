"""The documentation: its examples run, its links lead somewhere, its pictures are current."""
