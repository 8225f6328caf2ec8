"""What sources say of their states, under the name that they know: see `goalsets.core.flatten`."""

from goalsets.core.flatten import (
    FieldSpec,
    Shape,
    choose_fields,
    flatten,
    leaves,
    total_size,
    unflatten,
    vector_shape,
)

__all__ = [
    "FieldSpec",
    "Shape",
    "choose_fields",
    "flatten",
    "leaves",
    "total_size",
    "unflatten",
    "vector_shape",
]
