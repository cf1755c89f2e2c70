"""Options that cannot be honoured say so, instead of doing nothing."""

import warnings


def refuse(is_meant: bool, option: str, why: str) -> None:
    """NotImplementedError where an option asks for what there is not. `why`: what is there instead,
    and what to do."""
    if is_meant:
        raise NotImplementedError(f"{option} is not supported: {why}")


def warn_unheard(options, unheard: dict, what: str) -> None:
    """Warns of each option in `unheard` ({name: why}) that is set: it changes no result, but
    something that the program may wait for does not come."""
    for name, why in unheard.items():
        if getattr(options, name, None):
            warnings.warn(f"{what}.{name} has no effect: {why}", stacklevel=4)
