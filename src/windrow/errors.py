"""What can go wrong, by name. Everything `windrow` raises on purpose is a `WindrowError`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class WindrowError(Exception):
    """The root of every error that `windrow` raises on purpose."""


class OptionError(WindrowError, ValueError):
    """An option has a value that it cannot have; the message says which it can."""


class WrongType(WindrowError, TypeError):
    """Something is of a type that cannot be used there; the message says what is needed."""


class UnknownName(WindrowError, AttributeError):
    """There is nothing of that name; the message says what there is."""


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


def how_to_install(extra: str) -> str:
    """How to get the packages of an extra. The package is on no index yet, so it is installed from a checkout."""
    return f"pip install '.[{extra}]' in a checkout of windrow"


def unknown_name(module: str, name: str, names: Sequence[str], instead: Mapping[str, str] | None = None) -> UnknownName:
    """The error of a module that has no such name, with what comes near it. `instead`: what others call ours."""
    if name.startswith("_"):  # Python itself asks for some
        return UnknownName(f"{module} has no {name}")
    near = (instead or {}).get(name) or ", ".join(
        f"{module}.{n}" for n in get_close_matches(name.lower(), names, 2, 0.6)
    )
    hint = f"; there is {near}" if near else f"; there are {', '.join(names)}"
    return UnknownName(f"{module} has no {name}{hint}")


def brief(text: str) -> str:
    """As much of what somebody wrote as a message can bear.

    >>> len(brief("x in (" + "1, " * 100_000 + ")"))
    503
    """
    return text if len(text) <= 500 else f"{text[:400]}...{text[-100:]}"
