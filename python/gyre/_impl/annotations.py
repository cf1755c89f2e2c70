"""Types that annotations name, and `Any`, without what it takes to load `typing`: annotations are
not evaluated when programs run."""

from gyre._gyre import Tensor
from gyre._impl.shape import TensorShape

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any as Any
    from typing import Protocol, TypeAlias

    class Readable(Protocol):
        """A variable, or what else stands for a tensor."""

        def __gyre_tensor__(self) -> Tensor: ...

    class HasArray(Protocol):
        """An array of numpy's, or what it takes for one."""

        def __array__(self) -> Any: ...

    # What converts to a tensor, and what to a shape.
    TensorLike: TypeAlias = (
        Tensor | Readable | HasArray | complex | str | bytes | Sequence["TensorLike"]
    )
    ShapeLike: TypeAlias = TensorShape | TensorLike | Sequence[TensorLike | None] | None
else:
    Any = TensorLike = ShapeLike = object
