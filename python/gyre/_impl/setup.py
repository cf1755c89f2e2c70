"""What the binding must know of the package before the first use."""

from gyre import _gyre
from gyre._impl import tensor, tracebacks


def _error(code: str, message: str) -> Exception:
    from gyre._impl import errors

    return errors.from_status(code, message)


_gyre.set_error_factory(_error)
tensor.install()
tracebacks.install()
