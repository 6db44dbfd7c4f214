"""Where windows begin and end. `from windrow import win`, then `win.sliding("24 hours", every="1 minute")`."""

from windrow.errors import unknown_name
from windrow.windows.makers import (
    landmark,
    last,
    policy,
    punctuated,
    session,
    sliding,
    trailing,
    tumbling,
    user_defined,
)

__all__ = [
    "landmark",
    "last",
    "policy",
    "punctuated",
    "session",
    "sliding",
    "trailing",
    "tumbling",
    "user_defined",
]

#: what others call windows that are here
_INSTEAD = {"hopping": "win.sliding", "hop": "win.sliding", "tumble": "win.tumbling", "rolling": "win.trailing"}


def __getattr__(name: str) -> object:
    raise unknown_name("win", name, __all__, _INSTEAD)
