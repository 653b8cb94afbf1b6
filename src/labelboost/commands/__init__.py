"""What the command `labelboost` does: one module per command, and what they share."""
