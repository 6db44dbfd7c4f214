"""What a frame is, whatever library it comes from."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from windrow.engine.inputs import Column
from windrow.engine.threads import ONE, Threads
from windrow.errors import WindrowError
from windrow.frames.outputs import Instants, Labels, Output, Taken, Values
from windrow.frames.times import Times, read_times, stamps
from windrow.frames.types import Type, fitting


class Key(NamedTuple):
    """A key column as `engine.grouping` takes it: int64, float64, bool or objects, and a mask where there are nulls.

    Text and whatever else the library can encode itself comes as codes, int64, -1 for null.
    """

    values: np.ndarray
    mask: np.ndarray | None = None

    def representatives(self) -> tuple[np.ndarray, np.ndarray]:
        """(the different codes, the first row of each), for a column of codes."""
        return np.unique(self.values, return_index=True)


class Frame(ABC):
    """Columns by name. A library's part is to read its own columns and to make new ones of its own kind."""

    threads: Threads = ONE  # that large columns are read by

    def __init__(self, names: Sequence[str], rows: int) -> None:
        self.names = tuple(names)
        self.rows = rows
        self._columns: dict[str, Column] = {}
        self._times: dict[str, Times] = {}
        self._types: dict[str, Type] = {}
        self.derived: dict[str, str | None] = {}  # columns beside its own: of which column they hold values
        if len(set(self.names)) < len(self.names):
            again = [name for name in dict.fromkeys(self.names) if self.names.count(name) > 1]
            raise WindrowError(f"column names must differ; {again[0]!r} is there more than once")

    def derive(self, name: str, column: Column, of: Type, source: str | None) -> None:
        """Takes a column beside its own, which is no column of the data. Its values may be those of `source`."""
        self._columns[name], self._types[name], self.derived[name] = column, of, source

    def column(self, name: str) -> Column:
        """The column as arrays, without a copy where its type allows."""
        column = self._columns.get(name)
        if column is None:
            native = self._native(name if name in self.names else self._known(name))
            try:
                column = self._columns[name] = self._read(native)
            except WindrowError as error:
                raise WindrowError(f"column {name!r}: {error}") from None
        return column

    def ranks(self, name: str) -> Column:
        """The ranks of the values of a column whose type puts its categories in order."""
        order = self.type(name).order
        assert order is not None
        return order.ranks(self.column(name))

    def outline(self, name: str) -> Column:
        """The column's kind, type and mask; its values may be missing where they would have to be made into objects."""
        return self.column(name)

    def time(self, name: str) -> Times:
        """The column as times."""
        if name not in self._times:
            column = self.column(name)
            self._times[name] = read_times(name, column, *self._type(name))
        return self._times[name]

    def type(self, name: str) -> Type:
        """What the column holds; told by the library's own type wherever that tells it."""
        if name not in self._types:
            self._types[name] = self._type_of(self._known(name))
        return self._types[name]

    def dtype_of(self, of: Type) -> Any:
        """The library's own type for it; None: whatever the library makes of the values."""
        if self.library not in of.dtypes:
            of.dtypes[self.library] = self._dtype_of(of)
        return of.dtypes[self.library]

    def keys(self, names: Sequence[str]) -> list[Key]:
        """Columns to group by."""
        return [self._key_of(self._known(name)) for name in names]

    def _key_of(self, name: str) -> Key:
        if name not in self.derived:
            return self._key(name)
        source, column = self.derived[name], self._columns[name]
        return Key(column.values, column.mask) if source is None else self._key(source)

    def labels(self, name: str) -> Labels:
        """The column in its library's own form, for `Taken` (from a later frame, too)."""
        return Labels(self._native_of(self._known(name)))

    def objects(self, name: str, positions: Any) -> list:
        """A few values as Python's objects, None for null; the rest of the column is not read."""
        return self.some(name, positions).objects()

    def some(self, name: str, positions: Any) -> Column:
        """Some rows of a column; the rest of it is not read."""
        return self._read(self._take(self._native_of(self._known(name)), np.asarray(positions, np.int64)))

    def take(self, positions: Any) -> Any:
        """Rows, as the kind of data the frame was read from."""
        return self.pick(positions).native()

    def check(self, name: str) -> None:
        """Raises, with the columns there are, where this one is not among them."""
        self._known(name)

    def _known(self, name: str) -> str:
        if name in self.names or name in self.derived:
            return name
        near = difflib.get_close_matches(str(name), [str(each) for each in self.names], 1)
        listed = ", ".join(map(str, self.names[:30])) + (", ..." if len(self.names) > 30 else "")
        hint = f" (did you mean {near[0]!r}?)" if near else self._elsewhere(name)
        raise WindrowError(f"there is no column {name!r}{hint}; the columns are: {listed or 'none'}")

    def _elsewhere(self, name: str) -> str:
        return ""

    def _native_of(self, name: str) -> Any:
        """A column as its library has it; of a derived one, the values whether they are null or not."""
        if name not in self.derived:
            return self._native(name)
        source, column = self.derived[name], self._columns[name]
        if source is not None:
            return self._native(source)
        return self._made(name, Values(column.values, column.mask), self._types[name])

    def _made(self, name: str, output: Output, to: Type | None = None) -> Any:
        """A new column of the library's own; of the type `to` where that is given, or an error."""
        dtype = None if to is None else self.dtype_of(to)
        try:
            made = self._unfitted(output, to, dtype)
            return made if dtype is None else self._fitted(made, dtype)
        except WindrowError as error:
            raise WindrowError(f"result column {name!r}: {error}") from None
        except Exception as error:
            error.add_note(f"in the result column {name!r}")
            raise

    def _unfitted(self, output: Output, to: Type | None, dtype: Any) -> Any:
        if isinstance(output, Taken):
            source = output.source
            native = source.native if isinstance(source, Labels) else self._native_of(self._known(source))
            return self._take(native, np.asarray(output.positions, np.int64))
        if isinstance(output, Instants):
            array, exact = stamps(output.values, output.mask, output.like)
            mask = None if output.mask is None or output.mask.all() else output.mask
            return self._stamps(array, mask, output.like.native, exact and output.like.native.dtype is not None)
        array, mask = output.split()
        if to is not None:
            return self._make(fitting(array, mask, to), mask, dtype)
        if output.like is None:
            return self._make(array, mask, None)
        if array.dtype == np.int64 and (own := self.column(output.like).dtype).kind in "mM":
            array, mask = Values(array.view(own), mask).split()  # as the engine counts times
        return self._make(array, mask, self._own_dtype(self._known(output.like)))

    #: which library's data it holds
    library: ClassVar[str]

    @property
    def form(self) -> Any:
        """In which of the library's forms the data came, as a plain value."""
        return None

    @abstractmethod
    def native(self) -> Any:
        """The frame as it came: the same object, or as good as it."""

    @abstractmethod
    def pick(self, positions: Any) -> Frame:
        """Rows, as a frame."""

    @abstractmethod
    def _native(self, name: str) -> Any: ...

    @abstractmethod
    def _read(self, native: Any) -> Column: ...

    @abstractmethod
    def _type(self, name: str) -> tuple[Any, Any]:
        """The library's own type of a column, and the zone of its times."""

    @abstractmethod
    def _type_of(self, name: str) -> Type: ...

    @abstractmethod
    def _dtype_of(self, of: Type) -> Any:
        """The library's own type; None: it has none to tell."""

    @abstractmethod
    def _fitted(self, native: Any, dtype: Any) -> Any:
        """A column as a type of the library's own; a WindrowError where something would be lost."""

    @abstractmethod
    def _own_dtype(self, name: str) -> Any:
        """The library's own type of a column."""

    @abstractmethod
    def _key(self, name: str) -> Key: ...

    @abstractmethod
    def _take(self, native: Any, positions: np.ndarray) -> Any: ...

    @abstractmethod
    def _make(self, array: np.ndarray, mask: np.ndarray | None, dtype: Any) -> Any:
        """A column from an array (numbers, bools, times or objects), of a type of the library's own where it fits."""

    @abstractmethod
    def _stamps(self, array: np.ndarray, mask: np.ndarray | None, native: Any, exact: bool) -> Any: ...

    @abstractmethod
    def _together(self, columns: dict[str, Any]) -> Any:
        """New columns alone, as the kind of data the frame was read from."""

    @abstractmethod
    def _beside(self, columns: dict[str, Any]) -> Any:
        """The frame's columns and new ones."""


def repeated(like: Frame, name: str, values: Values, at: np.ndarray, to: Type | None = None) -> Taken:
    """Values by their places, made into a column of the library's own only once each."""
    return Taken(Labels(like._made(name, values, to)), at)


#: the types of result columns; those that are not there are what their values make them
Types = Mapping[str, Type]


def build(like: Frame, columns: Mapping[str, Output], types: Types | None = None) -> Any:
    """Result columns as data of the kind that `like` was read from."""
    lengths = set(map(len, columns.values()))
    if len(lengths) > 1:
        raise WindrowError(f"result columns of one length are needed, not {sorted(lengths)}")
    told = {} if types is None else types
    return like._together({name: like._made(name, output, told.get(name)) for name, output in columns.items()})


def extend(frame: Frame, new: Mapping[str, Output], types: Types | None = None) -> Any:
    """The frame's own columns, untouched, then the new ones, one value a row."""
    told = {} if types is None else types
    for name, output in new.items():
        if name in frame.names:
            raise WindrowError(f"the data has a column {name!r} already; give the aggregate another name")
        if len(output) != frame.rows:
            raise WindrowError(f"the result column {name!r} has {len(output)} values for {frame.rows} rows")
    return frame._beside({name: frame._made(name, output, told.get(name)) for name, output in new.items()})
