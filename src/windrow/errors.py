"""What can go wrong, by name. Everything `windrow` raises on purpose is a `WindrowError`."""


class WindrowError(Exception):
    """The root of every error that `windrow` raises on purpose."""


class Unsupported(WindrowError):
    """An algorithm was asked for what it cannot do; the message names one that can."""


class LawError(WindrowError, ValueError):
    """An aggregate breaks a monoid law; the message holds the counter-example."""


class SnapshotError(WindrowError, ValueError):
    """A saved state is damaged, of another version, or of another aggregate or algorithm."""


class StoreError(WindrowError):
    """A store cannot do what was asked of it; the message says what and why."""


class StoreUnavailable(StoreError):
    """A store does not answer. Nothing is lost yet: the same call may be tried again."""


class DamagedPage(StoreError):
    """What a store gave back is not what was put there: its checksum, epoch or length is wrong, or it is missing."""


class UnsafeFile(WindrowError):
    """A folder or file of compiled code could have been written by others; the message names it and says what helps."""
