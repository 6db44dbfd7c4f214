"""What can go wrong, by name. Everything `windrow` raises on purpose is a `WindrowError`."""


class WindrowError(Exception):
    """The root of every error that `windrow` raises on purpose."""


class Unsupported(WindrowError):
    """An algorithm was asked for what it cannot do; the message names one that can."""


class LawError(WindrowError, ValueError):
    """An aggregate breaks a monoid law; the message holds the counter-example."""


class SnapshotError(WindrowError, ValueError):
    """A saved state is damaged, of another version, or of another aggregate or algorithm."""
