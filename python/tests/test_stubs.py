"""What type checkers read is what the package has."""

import ast
import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import orrery as o
from orrery import verbs

PYTHON = Path(__file__).resolve().parents[1]
USE = """
import orrery as o
chip = o.Chip("gemmini")
best = o.map(chip, o.Model("bert-large"), seq=512)
plan: o.Plan = o.Plan(tp=8)
o.sparse.measure(q="q.npy", k="k.npy", threshold=0.002)
o.train(model="gpt3-175b", system="a100-selene", gpus=64, certify=3)  # an error: certify is True or False
o.chip(3)  # an error
"""


@unittest.skipUnless(importlib.util.find_spec("nanobind"), "no nanobind, which writes the stubs")
class Stubs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        subprocess.run([sys.executable, PYTHON / "stubs.py", self.folder], check=True)

    def test_every_name_of_the_package_is_there(self):
        tree = ast.parse((self.folder / "orrery/__init__.pyi").read_text(encoding="utf-8"))
        named = {each.name for each in tree.body if isinstance(each, (ast.FunctionDef, ast.ClassDef))}
        named |= {alias.asname for each in tree.body if isinstance(each, ast.ImportFrom) for alias in each.names}
        named |= {each.target.id for each in tree.body if isinstance(each, ast.AnnAssign)}
        self.assertEqual(set(o.__all__) - named, set())

    def test_every_option_is_there(self):
        tree = ast.parse((self.folder / "orrery/__init__.pyi").read_text(encoding="utf-8"))
        functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
        for name in ("map", "train", "sweep", "catalog"):
            said = {each.arg for each in functions[name].args.kwonlyargs}
            self.assertEqual(set(verbs.options(name)) - {"json"} - said, set())

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "no mypy")
    def test_mypy_finds_what_is_wrong_and_nothing_else(self):
        for path in (PYTHON / "src/orrery").glob("*.py"):
            if not (self.folder / "orrery" / f"{path.name}i").exists():
                (self.folder / "orrery" / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        (self.folder / "orrery/py.typed").touch()
        use = self.folder / "use.py"
        use.write_text(USE, encoding="utf-8")
        found = subprocess.run(
            [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", self.folder / "cache", use],
            capture_output=True, text=True, check=False, cwd=self.folder)  # fmt: skip
        wrong = [line for line in found.stdout.splitlines() if ": error:" in line]
        self.assertEqual([line.split(":")[:2] for line in wrong], [["use.py", "7"], ["use.py", "8"]], found.stdout)


if __name__ == "__main__":
    unittest.main()
