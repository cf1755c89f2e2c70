"""Variables of Keras that are variables of Gyre."""

from keras.src.backend.common import KerasVariable
from keras.src.backend.common.stateless_scope import in_stateless_scope

import gyre
from gyre._keras.backend.tensors import cast, convert_to_tensor


class Variable(KerasVariable):
    """A variable of Keras. Its value is a gyre.Variable, and ops take it as a tensor."""

    __gyre_operand__ = True
    # Tapes give gradients of whole variables.
    read_by_rows = False

    def __gyre_tensor__(self):
        return gyre.convert_to_tensor(self.value)

    @property
    def handle(self):
        """By which tapes know the variable."""
        return self._value.handle

    def read_value(self):
        """The value as a tensor."""
        return self._value.read_value()

    @property
    def _dims(self):
        return self._value._dims

    def _initialize(self, value):
        if isinstance(value, gyre.Variable):
            self._value = value
            return
        # a layer may be built while a function is traced: its variables belong outside
        with gyre.init_scope():
            self._value = gyre.Variable(
                convert_to_tensor(value, self._dtype), trainable=self.trainable, name=self.name
            )

    def _initialize_with_initializer(self, initializer):
        with gyre.init_scope():
            self._initialize(initializer(self._shape, dtype=self._dtype))

    def _deferred_initialize(self):
        if self._value is not None:
            raise ValueError(f"Variable {self.path} is already initialized.")
        if in_stateless_scope():
            raise ValueError(
                "You are attempting to initialize a variable while in a stateless scope. This is "
                "disallowed. Make sure that all variables are initialized before you start using "
                "your layer/model objects."
            )
        self._initialize_with_initializer(self._initializer)
        self._initializer = None

    def _direct_assign(self, value):
        self._value.assign(cast(value, self._dtype))

    def _convert_to_tensor(self, value, dtype=None):
        return convert_to_tensor(value, dtype=dtype)

    def numpy(self):
        return self.value.numpy()
