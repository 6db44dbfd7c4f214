"""Where windows begin and end. `from windrow import win`, then `win.sliding("24 hours", every="1 minute")`."""

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
