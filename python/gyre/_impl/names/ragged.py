"""Ragged tensors: what makes them, and works on their values."""

NAMES = {
    f"ragged.{name}": f"gyre._impl.composites.ragged_parts:{name}"
    for name in (
        "range",
        "map_flat_values",
        "row_splits_to_segment_ids",
        "segment_ids_to_row_splits",
        "boolean_mask",
        "stack",
        "stack_dynamic_partitions",
    )
}
NAMES["ragged.cross"] = "gyre._impl.composites.crosses:ragged_cross"
NAMES["ragged.cross_hashed"] = "gyre._impl.composites.crosses:ragged_cross_hashed"
