"""The examples of docs/python.md do what it says."""

import doctest
import unittest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs/python.md"


class Docs(unittest.TestCase):
    def test_examples(self):
        failed, tried = doctest.testfile(str(PAGE), module_relative=False)
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 10)


if __name__ == "__main__":
    unittest.main()
