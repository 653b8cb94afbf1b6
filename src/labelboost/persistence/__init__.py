"""Models as files: versioned, compressed JSON that is checked in full before it is used.

The format is described in docs/model-format.md. Reading a file executes nothing that it contains.
"""

from labelboost.persistence.model_files import load_model, save_model

__all__ = ["load_model", "save_model"]
