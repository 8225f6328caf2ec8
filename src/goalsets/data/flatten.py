"""The names of `goalsets.core.flatten`, for sources, which import them from here."""

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
