"""Models as files: versioned, compressed JSON that is checked in full before it is used.

The format is described in docs/model-format.md. Reading a file executes nothing that it contains.
`model_files` has what users call. It knows the estimators, so it is not imported here: they know
the checkpoints of this package.
"""
