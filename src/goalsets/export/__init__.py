"""Export a policy for other machines, as one ONNX file that holds everything."""

from goalsets.export.onnx_file import Exported, export_onnx
from goalsets.export.parity import Parity, ParityError

__all__ = ["Exported", "Parity", "ParityError", "export_onnx"]
