"""pyarrow: tables, record batches and their readers."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from windrow.errors import WindrowError
from windrow.frames.of_libraries import LibraryFrame
from windrow.frames.outputs import listed
from windrow.frames.types import Type


class ArrowFrame(LibraryFrame):
    """A Table, a RecordBatch or a RecordBatchReader (read to its end); inside, a Table."""

    def __init__(self, data: Any, kind: str | None = None) -> None:
        import pyarrow as pa

        self.given, self.kind = data, kind or type(data).__name__
        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
        elif isinstance(data, pa.RecordBatchReader):
            data = data.read_all()
        super().__init__(data, data.column_names, data.num_rows)

    library = "arrow"

    @property
    def form(self) -> str:
        return self.kind

    def native(self) -> Any:
        return self.given if self.kind == "RecordBatch" and self.given is not self.data else self._as_given(self.data)

    def _as_given(self, table: Any) -> Any:
        import pyarrow as pa

        if self.kind == "RecordBatchReader":
            return table.to_reader()
        if self.kind == "RecordBatch":
            arrays = [whole(column) for column in table.columns]
            return pa.RecordBatch.from_arrays(arrays, schema=table.schema) if arrays else pa.RecordBatch.from_pydict({})
        return table

    def pick(self, positions: Any) -> ArrowFrame:
        import pyarrow as pa

        at = np.asarray(positions, np.int64)
        picked = [taken(column, at) for column in self.data.columns]
        return ArrowFrame(pa.Table.from_arrays(picked, schema=self.data.schema), self.kind)

    def _native(self, name: str) -> Any:
        return self.data.column(name)

    def _dtype(self, native: Any) -> Any:
        import pyarrow as pa

        return native.type.value_type if pa.types.is_dictionary(native.type) else native.type

    def _own_dtype(self, name: str) -> Any:
        return self._native(name).type

    def _type_of(self, name: str) -> Type:
        return type_of(self._native(name).type)

    def _dtype_of(self, of: Type) -> Any:
        return dtype_of(of)

    def _fitted(self, native: Any, dtype: Any) -> Any:
        return fitted(native, dtype)

    def _decoded(self, series: nw.Series) -> nw.Series:
        native = series.to_native()
        plain = decoded(native)
        return series if plain is native else self._series(plain)

    def _codes(self, native: Any) -> np.ndarray | None:
        return codes(native)

    def _take(self, native: Any, positions: np.ndarray) -> Any:
        return taken(native, positions)

    def _make(self, array: np.ndarray, mask: np.ndarray | None, dtype: Any) -> Any:
        return made(array, mask, dtype)

    def _stamps(self, array: np.ndarray, mask: np.ndarray | None, native: Any, exact: bool) -> Any:
        return stamped(array, mask, native.dtype if exact else None, native.zone)

    def _together(self, columns: dict[str, Any]) -> Any:
        import pyarrow as pa

        return self._as_given(pa.table(columns))

    def _beside(self, columns: dict[str, Any]) -> Any:
        table = self.data
        for name, column in columns.items():
            table = table.append_column(name, column)
        return self._as_given(table)


def type_of(kind: Any, own: bool = True) -> Type:
    """What a pyarrow type holds."""
    import pyarrow as pa

    mine: dict[str, Any] = {"library": "arrow", "own": kind} if own else {}
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind) or isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind.value_type
    is_a = pa.types
    if is_a.is_integer(kind):
        return Type("uint" if is_a.is_unsigned_integer(kind) else "int", kind.bit_width, **mine)
    if is_a.is_floating(kind):
        return Type("float", kind.bit_width, **mine)
    if is_a.is_decimal(kind):
        return Type("decimal", precision=kind.precision, scale=kind.scale, **mine)
    if is_a.is_timestamp(kind):
        return Type("timestamp", unit=kind.unit, zone=kind.tz, **mine)
    if is_a.is_duration(kind):
        return Type("duration", unit=kind.unit, **mine)
    if is_a.is_map(kind):
        return Type("object", **mine)
    if is_a.is_list(kind) or is_a.is_large_list(kind) or is_a.is_fixed_size_list(kind):
        return Type("list", item=type_of(kind.value_type), **mine)
    if is_a.is_struct(kind):
        return Type("struct", fields=tuple((f.name, type_of(f.type)) for f in kind), **mine)
    return Type(_PLAIN.get(str(kind), "object"), **mine)


#: the types that have no parts, by pyarrow's names
_PLAIN: dict[str, Any] = {
    "bool": "bool", "string": "text", "large_string": "text", "string_view": "text", "binary": "bytes",
    "large_binary": "bytes", "binary_view": "bytes", "date32[day]": "date", "date64[ms]": "date", "null": "null",
    "time32[s]": "time", "time32[ms]": "time", "time64[us]": "time", "time64[ns]": "time",
}  # fmt: skip


def dtype_of(of: Type) -> Any:
    """The pyarrow type; None: the values tell it."""
    import pyarrow as pa

    if of.library == "arrow":
        return of.own if of.told else None
    if of.name in ("object", "null"):
        return None
    if of.name == "list":
        item = None if of.item is None else dtype_of(of.item)
        return None if item is None else pa.list_(item)
    if of.name == "struct":
        parts = [(name, dtype_of(part)) for name, part in of.fields]
        return None if any(part is None for _, part in parts) else pa.struct(parts)
    if of.name in ("timestamp", "duration"):
        unit = of.unit if of.unit in ("s", "ms", "us", "ns") else "s"
        return (
            pa.duration(unit)
            if of.name == "duration"
            else pa.timestamp(unit, None if of.zone is None else str(of.zone))
        )
    if of.name == "decimal":
        return pa.decimal128(of.precision, of.scale)
    plain = {
        "text": pa.string(),
        "bytes": pa.binary(),
        "bool": pa.bool_(),
        "date": pa.date32(),
        "time": pa.time64("us"),
    }
    if of.name in plain:
        return plain[of.name]
    return getattr(pa, f"{of.name}{of.bits}")()


def fitted(native: Any, dtype: Any) -> Any:
    """A column as a pyarrow type; an error where something would be lost."""
    if native.type == dtype:
        return native
    found = _cast(native, dtype, None)
    if found is None:
        raise WindrowError(f"the values are {native.type}, and do not fit {dtype}")
    return found


def whole(chunked: Any) -> Any:
    """A chunked array as one array (`combine_chunks` alone leaves none where there is no chunk)."""
    import pyarrow as pa

    if isinstance(chunked, pa.Array):
        return chunked
    if chunked.num_chunks == 1:
        return chunked.chunk(0)
    return pa.concat_arrays(chunked.chunks) if chunked.num_chunks else pa.array([], chunked.type)


def taken(chunked: Any, positions: np.ndarray) -> Any:
    """Values by position, null for -1."""
    import pyarrow as pa

    gone = positions < 0
    at = pa.array(positions, mask=gone if gone.any() else None)
    try:
        return chunked.take(at)
    except pa.ArrowNotImplementedError:  # views of text
        wider = pa.large_string() if chunked.type == pa.string_view() else pa.large_binary()
        return chunked.cast(wider).take(at).cast(chunked.type)


def decoded(chunked: Any) -> Any:
    """Dictionaries, run-ends and extension types as the values they stand for."""
    import pyarrow as pa

    kind = chunked.type
    if isinstance(kind, pa.BaseExtensionType):
        return decoded(chunked.cast(kind.storage_type))
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return decoded(chunked.cast(kind.value_type))
    if pa.types.is_date64(kind):
        return chunked.cast(pa.date32(), safe=False)
    return chunked


def codes(chunked: Any) -> np.ndarray | None:
    """A number for each different value, -1 for null; None where pyarrow cannot encode the type."""
    import pyarrow as pa

    if pa.types.is_nested(chunked.type):
        return None
    try:
        if not pa.types.is_dictionary(chunked.type):
            chunked = decoded(chunked).dictionary_encode()
        array = whole(chunked)
        # a dictionary as it comes may hold a value twice, and null: encoded once more, it holds neither
        numbers = array.dictionary.dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    indices = array.indices
    at = indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    found = numbers.astype(np.int64)[at] if len(numbers) else np.full(len(at), -1)
    if indices.null_count:
        found[~indices.is_valid().to_numpy(zero_copy_only=False)] = -1
    return found


def made(array: np.ndarray, mask: np.ndarray | None, kind: Any = None) -> Any:
    """A pyarrow array of the type `kind` where the values fit into it."""
    import pyarrow as pa

    if array.dtype == object:
        return _from_objects(array, mask, kind)
    new = pa.array(array, mask=None if mask is None else ~mask, from_pandas=False)
    if kind is None or (pa.types.is_temporal(new.type) and not pa.types.is_temporal(kind)):
        return new
    return _cast(new, kind, new)


def stamped(array: np.ndarray, mask: np.ndarray | None, kind: Any, zone: Any) -> Any:
    """Moments as a pyarrow array: of the type `kind`, or of their own unit with the zone."""
    import pyarrow as pa

    new = made(array, mask)
    if kind is None and zone is not None:
        kind = pa.timestamp(new.type.unit, zone)
    return new if kind is None else _cast(new, kind, new)


REFUSED = (ValueError, TypeError, NotImplementedError, OverflowError)  # what pyarrow's own errors are


def _cast(array: Any, kind: Any, otherwise: Any) -> Any:
    """Of another type; `otherwise` where something would be lost."""
    import pyarrow as pa

    try:
        if not pa.types.is_dictionary(kind) or array.type == kind:
            return array.cast(kind)
        array = whole(array)
        encoded = array.cast(kind.value_type).dictionary_encode()
        indices = encoded.indices.cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(indices, encoded.dictionary, ordered=kind.ordered)
    except REFUSED:
        return otherwise


def _from_objects(array: np.ndarray, mask: np.ndarray | None, kind: Any) -> Any:
    import pyarrow as pa

    values = listed(array, mask)
    if kind is not None:
        plain = kind.value_type if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind) else kind
        try:
            new = pa.array(values, plain)
            return _cast(new, kind, new)
        except REFUSED:
            pass  # not of that type, then
    try:
        return pa.array(values)
    except REFUSED as error:
        reason = error
    try:
        return pa.array(listed(array, mask, mixed=True))  # tuples of different types are structs
    except REFUSED:
        pass
    if all(isinstance(value, int) for value in values if value is not None):  # beyond 64 bits
        return pa.array([None if value is None else str(value) for value in values]).cast(pa.decimal128(38, 0))
    kinds = sorted({type(value).__name__ for value in values if value is not None})
    raise WindrowError(f"pyarrow has no type for values of {', '.join(kinds)}: {reason}")
