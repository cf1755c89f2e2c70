"""Signatures as they stand in source code: annotations that are texts are shown without quotes."""

import inspect


class _Annotation(str):
    __repr__ = str.__str__


def _bare(annotation):
    return _Annotation(annotation) if isinstance(annotation, str) else annotation


def signature_of(value) -> inspect.Signature:
    """As inspect.signature, for show."""
    signature = inspect.signature(value)
    return signature.replace(
        parameters=[
            p.replace(annotation=_bare(p.annotation)) for p in signature.parameters.values()
        ],
        return_annotation=_bare(signature.return_annotation),
    )
