"""Tests of the generated records of `bench/observations`."""

from __future__ import annotations

import unittest
from random import Random

from harness import fields


class Records(unittest.TestCase):
    def test_same_seed_same_records(self) -> None:
        for kind in fields.KINDS:
            self.assertEqual(fields.records(kind, 20, 7), fields.records(kind, 20, 7))
            self.assertNotEqual(fields.records(kind, 20, 7), fields.records(kind, 20, 8))

    def test_rows_have_a_word_and_a_label_in_iob2(self) -> None:
        for kind in fields.KINDS:
            for record in fields.records(kind, 200, 1).strip("\n").split("\n\n"):
                before = "O"
                for row in record.split("\n"):
                    text, label = row.split("\t")
                    self.assertTrue(text and not any(c.isspace() for c in text), row)
                    if label.startswith("I-"):
                        self.assertEqual(before[2:], label[2:], record)
                    before = label

    def test_citations_have_thirteen_fields(self) -> None:
        random = Random(1)
        found = {label[2:] for _ in range(500) for _, label in fields.citation(random)}
        self.assertEqual(len(found), 13, found)


if __name__ == "__main__":
    unittest.main()
