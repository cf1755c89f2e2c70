"""What the layers below must know of those above before the first use, and the binding of the
package. What is not needed by every program is loaded when it is asked for."""

from gyre import _gyre
from gyre._impl import notebooks, tensor
from gyre._impl.tracing import tracebacks, user_code


def _error(code: str, message: str, system_error: int) -> Exception:
    from gyre._impl import errors

    return errors.from_status(code, message, system_error)


def _conversion():
    from gyre._impl.autograph import calls

    return calls


def _html():
    from gyre._impl.show import reprs

    return reprs.html


_gyre.set_error_factory(_error)
user_code.install(_conversion)
notebooks.install(_html)
tensor.install()
tracebacks.install()
