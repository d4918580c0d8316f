"""A wheel of the build folder, installed where nothing else is."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from orrery._call import PROGRAM

PYTHON = Path(__file__).resolve().parents[1]


class Wheel(unittest.TestCase):
    @unittest.skipIf(Path(PROGRAM).parent.name == "bin", "this is an installed package")
    def test_it_carries_the_program_and_the_catalogue(self):
        with tempfile.TemporaryDirectory() as folder:
            packed = subprocess.run(
                [sys.executable, PYTHON / "pack.py", Path(PROGRAM).parent, folder],
                capture_output=True,
                text=True,
                check=True,
            )
            wheel = packed.stdout.strip()
            subprocess.run([sys.executable, "-m", "venv", f"{folder}/v"], check=True)
            install = [f"{folder}/v/bin/pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel]
            subprocess.run(install, check=True)
            bare = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "ORRERY_CATALOG")}

            def said(*words: str) -> str:
                done = subprocess.run(words, capture_output=True, text=True, check=True, env=bare, cwd=folder)
                return done.stdout

            self.assertIn("gemmini", said(f"{folder}/v/bin/orrery", "catalog"))
            use = "import orrery as o; print(o.map(chip='gemmini', gemm='64,64,64').inputs[0].name)"
            inside = said(f"{folder}/v/bin/python", "-c", use).strip()
            self.assertTrue(inside.startswith(os.path.realpath(folder)), inside)


if __name__ == "__main__":
    unittest.main()
