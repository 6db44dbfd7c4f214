"""A hash of everything that decides what a compiled kernel does.

Compiled kernels are kept on disk, and one that is taken for another gives wrong answers without a word. So the name
under which a kernel is kept is a hash of the bytecode, the constants, the closures and the globals of every function
in it, followed to the end. What cannot be hashed for sure is not cached.
"""

from __future__ import annotations

import dis
import hashlib
import types
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np


class Unhashable(Exception):
    """Something of a function's surroundings has no fingerprint that is certain."""


def fingerprint(*things: Any) -> str:
    """A hexadecimal digest, the same in every process.

    >>> fingerprint(lambda a, b: a + b) == fingerprint(lambda a, b: a - b)
    False
    >>> fingerprint((1, 2.0)) == fingerprint((1, 2.0)) != fingerprint((1, 2))
    True
    """
    digest = hashlib.sha256()
    seen: dict[int, int] = {}
    for thing in things:
        for piece in _pieces(thing, seen):
            digest.update(piece)
            digest.update(b"\0")
    return digest.hexdigest()


def _pieces(thing: Any, seen: dict[int, int]) -> Iterable[bytes]:
    if isinstance(thing, (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))):
        yield f"{type(thing).__name__}:{thing!r}".encode()
    elif isinstance(thing, np.generic):
        yield f"{thing.dtype.str}:{thing!r}".encode()
    elif isinstance(thing, (tuple, list)):
        yield f"{type(thing).__name__}[{len(thing)}".encode()
        for part in thing:
            yield from _pieces(part, seen)
    elif isinstance(thing, frozenset):
        yield from _pieces(sorted(map(repr, thing)), seen)
    elif isinstance(thing, types.CodeType):
        yield from _pieces((thing.co_name, thing.co_code, thing.co_names, thing.co_varnames, thing.co_freevars), seen)
        yield from _pieces(thing.co_consts, seen)
    elif isinstance(thing, types.ModuleType):
        yield f"module {thing.__name__} {getattr(thing, '__version__', '')}".encode()
    elif isinstance(thing, type):
        yield f"type {thing.__module__}.{thing.__qualname__} {getattr(thing, '_fields', '')}".encode()
    elif isinstance(thing, (types.BuiltinFunctionType, types.MethodDescriptorType)):
        yield f"builtin {thing.__module__}.{thing.__qualname__}".encode()
    elif isinstance(getattr(thing, "fingerprint", None), str):  # of `engine.pointers`: it says itself what it does
        yield thing.fingerprint.encode()
    elif hasattr(thing, "py_func") and hasattr(thing, "targetoptions"):  # what it was compiled from, and how
        yield from _pieces(sorted(thing.targetoptions.items()), seen)
        yield from _pieces(thing.py_func, seen)
    elif isinstance(thing, types.FunctionType):
        if id(thing) in seen:  # recursion, or a function used twice
            yield f"seen {seen[id(thing)]}".encode()
            return
        seen[id(thing)] = len(seen)
        yield from _pieces((thing.__code__, thing.__defaults__), seen)
        names = _names(thing.__code__)
        for cell in thing.__closure__ or ():
            yield from _pieces(cell.cell_contents, seen)
            yield from _attributes(cell.cell_contents, names, seen)
        for name in sorted(global_names(thing.__code__)):
            if name in thing.__globals__:
                yield from _pieces((name, thing.__globals__[name]), seen)
                yield from _attributes(thing.__globals__[name], names, seen)
    else:
        raise Unhashable(f"{type(thing).__module__}.{type(thing).__qualname__}")


def _attributes(thing: Any, names: frozenset[str], seen: dict[int, int]) -> Iterable[bytes]:
    """What code with these names may read of a module: numba takes it for constant, too."""
    if not isinstance(thing, types.ModuleType) or id(thing) in seen:
        return
    seen[id(thing)] = len(seen)
    for name in sorted(names & vars(thing).keys()):
        value = vars(thing)[name]
        if isinstance(value, (bool, int, float, complex, str, bytes, tuple, np.generic)) or hasattr(value, "py_func"):
            yield from _pieces((name, value), seen)
        yield from _attributes(value, names, seen)


@lru_cache(maxsize=4096)
def global_names(code: types.CodeType) -> frozenset[str]:
    """The globals that code reads, in functions within it, too."""
    loads = ("LOAD_GLOBAL", "LOAD_NAME")
    found = {step.argval for step in dis.get_instructions(code) if step.opname in loads}
    return frozenset(found).union(*(global_names(part) for part in code.co_consts if isinstance(part, types.CodeType)))


@lru_cache(maxsize=4096)
def _names(code: types.CodeType) -> frozenset[str]:
    """Every name in the code, attributes included."""
    parts = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return frozenset(code.co_names).union(*map(_names, parts))
