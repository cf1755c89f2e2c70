"""Layer: a function with variables of its own, which it makes in the variable scope of its first
call."""

from gyre._impl.compat.v1.variable_scope import get_variable, variable_scope


class Layer:
    """What layers have in common. A kind of layer makes its variables in `build(shape of the
    inputs)`, with `add_variable`, and says what it computes in `call`."""

    def __init__(
        self, name: str | None, default_name: str, reuse=None, dtype=None, trainable: bool = True
    ):
        self._given_name, self._default_name, self._reuse = name, default_name, reuse
        self._dtype, self.trainable_by_default = dtype, trainable
        self.built = False
        self._scope = None
        self._variables: list = []

    @property
    def name(self) -> str:
        """Its name: as it was given, or that of its scope."""
        return self._given_name or (
            self._scope.name.split("/")[-1] if self._scope else self._default_name
        )

    @property
    def variables(self) -> list:
        """Its variables."""
        return list(self._variables)

    weights = variables

    @property
    def trainable_variables(self) -> list:
        """Those that optimizers change."""
        return [v for v in self._variables if v.trainable]

    trainable_weights = trainable_variables

    def add_variable(
        self,
        name: str,
        shape,
        initializer=None,
        dtype=None,
        trainable=True,
        regularizer=None,
        constraint=None,
    ):
        """Makes (or, where scopes reuse, finds) a variable of it."""
        variable = get_variable(
            name,
            shape,
            dtype or self._dtype or "float32",
            initializer,
            regularizer,
            trainable and self.trainable_by_default,
            constraint=constraint,
        )
        self._variables.append(variable)
        return variable

    add_weight = add_variable

    def build(self, shape) -> None:
        """Makes its variables for inputs of a shape."""

    def call(self, inputs, *args, **kwargs):
        """What it computes."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it computes")

    def __call__(self, inputs, *args, scope=None, **kwargs):
        if self._scope is None:
            named = scope if scope is not None else self._given_name
            opened = (
                variable_scope(named, reuse=self._reuse)
                if named is not None
                else variable_scope(None, self._default_name)
            )
        else:
            opened = variable_scope(self._scope, reuse=self._reuse)
        with opened as entered:
            self._scope = self._scope or entered
            if not self.built:
                self.build(getattr(inputs, "_dims", None))
                self.built = True
            return self.call(inputs, *args, **kwargs)
