"""What is in a model."""

from __future__ import annotations


class ParsedDump:
    """What is in a model: ``Tagger.info`` returns it."""

    def __init__(self) -> None:
        # Weights by label and next label.
        self.transitions: dict[tuple[str, str], float] = {}
        # Weights by attribute and label.
        self.state_features: dict[tuple[str, str], float] = {}
        # The head of the file, all values as texts.
        self.header: dict[str, str] = {}
        # The number of each label, as text.
        self.labels: dict[str, str] = {}
        # The number of each attribute, as text.
        self.attributes: dict[str, str] = {}
