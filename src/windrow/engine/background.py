"""A thread that compiles kernels while their plain forms go on answering."""

from __future__ import annotations

import os
import queue
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.engine.kernel import Kernel

BACKGROUND = "windrow compiler"  # the name of the thread
_waiting: queue.Queue[tuple[Kernel, tuple]] = queue.Queue()
_thread: threading.Thread | None = None


def compile_later(kernel: Kernel, arguments: tuple) -> None:
    """Compiles a kernel for arguments of these types; it is used from then on."""
    global _thread
    _waiting.put((kernel, arguments))
    if _thread is None:
        # a daemon: a program that is done does not wait for a compiler
        _thread = threading.Thread(target=_work, name=BACKGROUND, daemon=True)
        _thread.start()


def wait() -> None:
    """Until nothing is left to compile."""
    _waiting.join()


def _work() -> None:
    from numba import typeof

    while True:
        kernel, arguments = _waiting.get()
        try:
            kernel.dispatcher.compile(tuple(typeof(argument) for argument in arguments))
        except Exception:  # the next call says so, where it can be dealt with
            pass
        finally:
            kernel.ready = True
            del kernel, arguments
            _waiting.task_done()


def _after_fork() -> None:
    """A forked process has no thread, and compiles what it needs by itself."""
    global _thread, _waiting
    while _thread is not None and not _waiting.empty():
        _waiting.get()[0].queued = False
    _thread, _waiting = None, queue.Queue()


os.register_at_fork(after_in_child=_after_fork)
