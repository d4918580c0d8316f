"""The examples of docs/python.md do what it says, and the reference says what the docstrings say."""

import doctest
import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/python.md"


class Docs(unittest.TestCase):
    def test_examples(self):
        failed, tried = doctest.testfile(str(PAGE), module_relative=False)
        self.assertEqual(failed, 0)
        self.assertGreater(tried, 10)

    @unittest.skipIf(sys.version_info < (3, 11), "inspect lists members without running them from Python 3.11 on")
    def test_the_reference_is_that_of_the_docstrings(self):
        made = subprocess.run([sys.executable, ROOT / "python/reference.py"], capture_output=True, text=True, check=True)
        page = ROOT / "docs/python_reference.md"
        if os.environ.get("ORRERY_ACCEPT"):
            page.write_text(made.stdout, encoding="utf-8")
        self.assertEqual(made.stdout, page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
