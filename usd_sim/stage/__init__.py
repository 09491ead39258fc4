"""From a stage to a model: read, resolve, compile."""
