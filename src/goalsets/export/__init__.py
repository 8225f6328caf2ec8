"""Policies as files for other machines: one ONNX file with everything inside."""

from goalsets.export.onnx_file import Exported, export_onnx
from goalsets.export.parity import Parity, ParityError

__all__ = ["Exported", "Parity", "ParityError", "export_onnx"]
