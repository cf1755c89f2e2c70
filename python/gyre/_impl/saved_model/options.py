"""Options of saving and loading models: programs may name them;
models are written and read in one way."""

import enum

from gyre._impl.unsupported import refuse


class VariablePolicy(enum.Enum):
    """How variables of several devices are saved. There is one way here: each once, as it is."""

    NONE = None
    SAVE_VARIABLE_DEVICES = "save_variable_devices"
    EXPAND_DISTRIBUTED_VARIABLES = "expand_distributed_variables"


class _Options:
    """Keeps what it is given under its names. TypeError for other names."""

    _defaults: dict = {}
    # Options that would change what comes of it, were they honoured; the rest concern devices, or
    # files that TensorFlow's tools read.
    _refused: dict = {}

    def __init__(self, **options):
        unknown = [name for name in options if name not in self._defaults]
        if unknown:
            raise TypeError(
                f"{type(self).__name__}() got an unexpected keyword argument {unknown[0]!r}; it "
                f"takes {', '.join(self._defaults)}"
            )
        for name, why in self._refused.items():
            refuse(bool(options.get(name)), f"{type(self).__name__}({name}=…)", why)
        self.__dict__.update({**self._defaults, **options})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


class SaveOptions(_Options):
    """Options of saved_model.save: those that are taken change nothing of what is written.
    NotImplementedError for those that would."""

    _defaults = {
        "namespace_whitelist": None,
        "save_debug_info": False,
        "function_aliases": None,
        "experimental_debug_stripper": False,
        "experimental_io_device": None,
        "experimental_variable_policy": VariablePolicy.NONE,
        "experimental_custom_gradients": True,
        "experimental_image_format": False,
        "experimental_skip_saver": False,
        "experimental_sharding_callback": None,
        "extra_tags": None,
    }
    _refused = {
        "function_aliases": "functions are written under their own names",
        "experimental_image_format": "a model is a folder",
        "experimental_skip_saver": "a model is written with its saver",
        "experimental_sharding_callback": "variables are written to one file",
        "extra_tags": "models are written with the tag 'serve'",
    }


class LoadOptions(_Options):
    """Options of saved_model.load: those that are taken change nothing of what is read.
    NotImplementedError for those that would."""

    _defaults = {
        "allow_partial_checkpoint": False,
        "experimental_io_device": None,
        "experimental_skip_checkpoint": False,
        "experimental_variable_policy": None,
        "experimental_load_function_aliases": False,
    }
    _refused = {
        "allow_partial_checkpoint": "all variables of a model are read",
        "experimental_skip_checkpoint": "a model is loaded with its variables",
        "experimental_load_function_aliases": "functions have their own names",
    }
