"""The one exception of the models."""

from __future__ import annotations


class ModelError(ValueError):
    """An input the models have no answer for; the message names it and says what would do."""
