"""Tables: what the values of keys are."""

from __future__ import annotations

import itertools
import weakref

from gyre import _gyre
from gyre._impl.annotations import TensorLike
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.composites.sparse_tensor import SparseTensor
from gyre._impl.convert import call, calls, convert_to_tensor
from gyre._impl.dtypes import DTypeLike
from gyre._impl.graphs.graph import current, has_default_graph
from gyre._impl.module import Module
from gyre._impl.shape import TensorShape

_counter = itertools.count()
# By the id of an eager handle, what is known of the table: key and value dtype, how it is filled.
_known = weakref.WeakValueDictionary()


class KnownTable:
    """What is known of a table behind an eager handle. initializer: None, or what has filled a
    table that does not change; shape: of one value; is_static: whether it is filled once."""

    def __init__(self, key_dtype, value_dtype, initializer=None, shape=(), is_static=True):
        self.key_dtype, self.value_dtype = key_dtype, value_dtype
        self.initializer, self.shape, self.is_static = initializer, shape, is_static


def note_table(handle, key_dtype, value_dtype, **more) -> KnownTable:
    """Says what stands behind a handle, as long as the result lives."""
    known = _known[handle.id] = KnownTable(key_dtype, value_dtype, **more)
    return known


def table_of(handle) -> KnownTable | None:
    """What is known of the table behind a handle; None: it is none."""
    return _known.get(handle.id)


def _of_values(keys, dtype, look_up):
    """look_up(keys), for tensors; of sparse and ragged keys, of their values."""
    if isinstance(keys, SparseTensor):
        return SparseTensor(keys.indices, look_up(keys.values), keys.dense_shape)
    if isinstance(keys, RaggedTensor):
        return keys.with_flat_values(look_up(keys.flat_values))
    return look_up(convert_to_tensor(keys, dtype))


class LookupInterface(Module):
    """What tables have in common.

    In graphs, methods that change a table add operations that do so when they run; in eager
    execution and in functions they do it there (what is an operation in graphs is None then).
    """

    _default_value: _gyre.Tensor
    _has_scalar_keys = True

    def __init__(self, op: str, key_dtype, value_dtype, name: str, inputs=(), **attrs):
        super().__init__()
        self._key_dtype, self._value_dtype = _gyre.as_dtype(key_dtype), _gyre.as_dtype(value_dtype)
        attrs = {"key_dtype": self._key_dtype, "value_dtype": self._value_dtype, **attrs}
        self._table_name = name
        if has_default_graph():
            graph = current()
            shared = graph.unique_name(name, False)
            self._resource_handle = call(op + "V2", *inputs, name=name, shared_name=shared, **attrs)
            self._table_name = _gyre.node_of(self._resource_handle).name
        else:
            with _gyre.init_scope():
                inputs = [convert_to_tensor(value, self._key_dtype) for value in inputs]
                self._resource_handle = call(f"Anonymous{op}", *inputs, **attrs)

    @property
    def key_dtype(self):
        """Of the keys."""
        return self._key_dtype

    @property
    def value_dtype(self):
        """Of the values."""
        return self._value_dtype

    @property
    def name(self) -> str:
        """The name of its operation, or that it was given."""
        return self._table_name

    @property
    def resource_handle(self):
        """The handle."""
        return self._resource_handle

    def _act(self, op: str, inputs, name=None, **attrs):
        _gyre.execute(op, [self._resource_handle, *inputs], attrs, name)
        return current().last_operation() if has_default_graph() else None

    def size(self, name: str | None = None):
        """How many keys there are: an int64 scalar."""
        return call("LookupTableSizeV2", self._resource_handle, name=name)

    def _find(self, keys, default_value, name):
        def look_up(flat):
            found = call("LookupTableFindV2", self._resource_handle, flat, default_value, name=name)
            dims, of_value = flat._dims, self._default_value._dims
            if found.is_symbolic and self._has_scalar_keys and None not in (dims, of_value):
                found.set_shape([*dims, *of_value])
            return found

        return _of_values(keys, self._key_dtype, look_up)

    def export(self, name: str | None = None):
        """(all keys, their values)."""
        return tuple(
            calls(
                "LookupTableExportV2",
                self._resource_handle,
                name=name,
                Tkeys=self._key_dtype,
                Tvalues=self._value_dtype,
            )
        )

    def __getitem__(self, keys):
        return self.lookup(keys)

    def lookup(self, keys, name: str | None = None):
        """The values of keys."""
        raise NotImplementedError


class StaticHashTable(LookupInterface):
    """A table that `initializer` fills, at once or, in graphs, when the operation of
    compat.v1.tables_initializer runs. Keys that are not there have the value default_value."""

    def __init__(
        self, initializer, default_value, name: str | None = None, experimental_is_anonymous=False
    ):
        del experimental_is_anonymous
        self._initializer = initializer
        super().__init__(
            "HashTable", initializer.key_dtype, initializer.value_dtype, name or "hash_table"
        )
        with _gyre.init_scope():
            self._default_value = convert_to_tensor(default_value, self._value_dtype)
        if self._default_value._dims not in ((), []):
            raise ValueError("default_value must be a scalar")
        if has_default_graph():
            self._init_op = initializer.initialize(self)
            current().add_to_collection("table_initializer", self._init_op)
        else:
            with _gyre.init_scope():
                self._init_op = initializer.initialize(self)
            self._note = note_table(
                self._resource_handle,
                self._key_dtype,
                self._value_dtype,
                initializer=initializer,
            )

    @property
    def default_value(self):
        """Of keys that are not there."""
        return self._default_value

    @property
    def initializer(self):
        """In graphs: the operation that fills it."""
        return self._init_op

    init = initializer

    def lookup(self, keys, name: str | None = None):
        """The values of keys, of the same shape: a tensor, sparse or ragged as the keys are."""
        return self._find(keys, self._default_value, name)


class _Mutable(LookupInterface):
    """What tables that change have in common."""

    @property
    def default_value(self):
        """Of keys that are not there."""
        return self._default_value

    def insert(self, keys: TensorLike, values: TensorLike, name: str | None = None):
        """Gives keys their values; those that are there already, new ones."""
        keys = convert_to_tensor(keys, self._key_dtype)
        values = convert_to_tensor(values, self._value_dtype)
        return self._act("LookupTableInsertV2", [keys, values], name)

    insert_or_assign = insert

    def remove(self, keys: TensorLike, name: str | None = None):
        """Takes keys out; those that are not there are passed over."""
        keys = convert_to_tensor(keys, self._key_dtype)
        return self._act("LookupTableRemoveV2", [keys], name)

    erase = remove

    def lookup(self, keys, dynamic_default_values=None, name: str | None = None):
        """The values of keys: of those that are not there default_value, or what
        dynamic_default_values has in their place."""
        default = self._default_value
        if dynamic_default_values is not None:
            default = convert_to_tensor(dynamic_default_values, self._value_dtype)
        return self._find(keys, default, name)


class MutableHashTable(_Mutable):
    """A table that changes. The values have the shape of default_value."""

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value,
        name: str = "MutableHashTable",
        checkpoint=True,
        experimental_is_anonymous=False,
    ):
        del checkpoint, experimental_is_anonymous
        with _gyre.init_scope():
            self._default_value = convert_to_tensor(default_value, value_dtype)
        dims = TensorShape(self._default_value._dims)
        if dims.rank == 0:
            super().__init__("MutableHashTable", key_dtype, value_dtype, name)
        else:
            super().__init__(
                "MutableHashTableOfTensors", key_dtype, value_dtype, name, value_shape=dims._dims
            )
        if not self._resource_handle.is_symbolic:
            self._note = note_table(
                self._resource_handle,
                self._key_dtype,
                self._value_dtype,
                shape=dims._dims,
                is_static=False,
            )


class DenseHashTable(_Mutable):
    """A table that changes, in which no key may be empty_key or deleted_key."""

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value,
        empty_key,
        deleted_key,
        initial_num_buckets=None,
        name: str = "MutableDenseHashTable",
        checkpoint=True,
        experimental_is_anonymous=False,
    ):
        del checkpoint, experimental_is_anonymous
        with _gyre.init_scope():
            self._default_value = convert_to_tensor(default_value, value_dtype)
        keys = [convert_to_tensor(key, key_dtype) for key in (empty_key, deleted_key)]
        self._has_scalar_keys = keys[0]._dims == ()
        super().__init__(
            "MutableDenseHashTable",
            key_dtype,
            value_dtype,
            name,
            keys,
            value_shape=TensorShape(self._default_value._dims)._dims,
            initial_num_buckets=initial_num_buckets,
        )
