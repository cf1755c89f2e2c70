"""What holds for the whole program: whether ops run at once, and in which form control flow is
kept."""


class _Modes:
    """The switches, as programs set them."""

    eager = True
    resource_variables = True
    control_flow_v2 = True
    dimensions = False  # whether items of shapes are Dimension objects


modes = _Modes()
