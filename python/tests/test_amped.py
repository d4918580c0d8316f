"""AMPeD's interface: its numbers, its modules and their files."""

import contextlib
import io
import json
import os
import re
import tempfile
import unittest
from pathlib import Path

import amped
from amped import main, mat_dims, optimization, scenario_summary

ROOT = Path(__file__).resolve().parents[2]
GOLDENS = ROOT.parent / "shared" / "goldens" / "cluster" / "amped_equation_goldens.json"
DEGREES = {f"{kind[0]}p_{where}": f"{where}_node_{kind}_parallel_degree"
           for kind in ("data", "tensor", "pipeline") for where in ("intra", "inter")}


def quietly(function, *arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = function(*arguments)
    return code, out.getvalue()


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)


class EstimatedTimes(InAFolder):
    @unittest.skipUnless(GOLDENS.exists(), "the reference results are not at hand")
    def test_are_those_of_the_reference_cases(self):
        for case in json.loads(GOLDENS.read_text())["cases"]:
            values = {DEGREES.get(name, name): {"value": value} for name, value in case["config"].items()}
            Path("config.json").write_text(json.dumps({"neural_network_training_parameters": {"parameters": values}}))
            answer = amped.estimate_training(config="config.json")["amped"]
            for part in ("derived", "outputs"):
                for name, expected in case[part].items():
                    with self.subTest(case=case["case"], name=name):
                        self.assertTrue(abs(answer[part][name] - expected) <= 1e-12 * abs(expected))
            self.assertEqual(amped.estimateTrainingTime(config="config.json"),
                             answer["outputs"]["total_time_to_train_s"])

    def test_follow_the_row_of_the_table(self):
        seconds = {row: amped.estimateTrainingTime(row) for row in ("V100", "A100", "H100 PCIe", "H100 SXM5")}
        self.assertEqual(sorted(seconds, key=seconds.get, reverse=True), list(seconds))
        self.assertEqual(amped.estimateTrainingTime(), seconds["A100"])

    def test_follow_parameters_and_mended_defects(self):
        theirs = amped.estimateTrainingTime("A100")
        self.assertNotEqual(amped.estimateTrainingTime("A100", mended=True), theirs)
        self.assertNotEqual(amped.estimateTrainingTime("A100", batch_size=3072), theirs)
        self.assertEqual(amped.estimateTrainingTime("A100", inter_node_latency="5 us"), theirs)

    def test_of_what_does_not_fit_are_given(self):
        result = amped.estimate_training("A100", memory_capacity="1 GB")
        self.assertFalse(result["fits"])

    def test_are_refused_by_name(self):
        with self.assertRaisesRegex(amped.AmpedError, "O1328.*`H200`"):
            amped.estimateTrainingTime("H200")
        with self.assertRaisesRegex(amped.AmpedError, "O1325.*btch"):
            amped.estimateTrainingTime(btch=1)


class Tables(unittest.TestCase):
    def test_peaks_are_those_of_data_sheets(self):
        # Dense bf16: NVIDIA's data sheets of V100 (125), A100 (312) and H100 (756 PCIe, 989 SXM5).
        for row, peak in {"V100": 125e12, "A100": 312e12, "H100 PCIe": 756e12, "H100 SXM5": 989e12}.items():
            derived = amped.estimate_training(row)["amped"]["derived"]
            self.assertLess(abs(derived["peak_compute_8bit_OPS"] / peak - 1), 0.005, row)

    @unittest.skipUnless((ROOT / "examples").is_dir(), "the examples are not at hand")
    def test_repeat_the_example(self):
        package, example = Path(amped.__file__).parent, ROOT / "examples" / "amped"
        self.assertEqual((package / "config.json").read_text(), (example / "config.json").read_text())
        tables = json.loads((package / "lookup_tables.json").read_text())
        for table, rows in json.loads((example / "lookup_tables.json").read_text()).items():
            for row, values in rows.items():
                self.assertEqual(tables[table][row], values)


class Modules(InAFolder):
    def files(self):
        names = sorted(path.name for path in Path("output_files").iterdir())
        for name in names:
            self.assertRegex(name, r"^\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_")
        return [re.sub(r"^.{20}", "", name) for name in names]

    def test_main_saves_summary_and_breakdown(self):
        code, out = quietly(main.main, [])
        self.assertEqual(code, 0, out)
        self.assertEqual(self.files(), ["config_summary.txt", "training_time_breakdown.txt"])
        breakdown = next(Path("output_files").glob("*breakdown.txt")).read_text()
        seconds = re.search(r"Total time to train \(s\)-+ (\S+)", breakdown)[1]
        self.assertEqual(float(seconds), amped.estimateTrainingTime())

    def test_main_saves_products_and_graph_when_asked(self):
        self.assertEqual(quietly(main.main, ["--GEMM", "--compute_graph"])[0], 0)
        self.assertEqual(self.files(), ["compute_graph.txt", "config_summary.txt", "gemm_breakdown.txt",
                                        "training_time_breakdown.txt"])

    def test_mat_dims_saves_six_rows_of_three(self):
        self.assertEqual(quietly(mat_dims.main, [])[0], 0)
        self.assertEqual(self.files(), ["mat_dims.txt"])
        rows = next(Path("output_files").iterdir()).read_text().splitlines()
        self.assertEqual([len(row.split()) for row in rows], [3] * 6)

    def test_scenario_summary_shows_shares(self):
        code, out = quietly(scenario_summary.main, ["--mended"])
        self.assertEqual(code, 0)
        self.assertRegex(out, r"tensor parallelism +904.0 ms +8.1 %")

    def test_optimization_prints_the_best_splits(self):
        code, out = quietly(optimization.main, [])
        self.assertEqual(code, 0)
        self.assertIn("the best batch size of each of the best splits", out)

    def test_take_another_configuration_and_its_tables(self):
        config = json.loads((Path(amped.__file__).parent / "config.json").read_text())
        config["accelerator_architecture_parameters"]["lookup_config"]["lookup_table_row"] = "H100 PCIe"
        Path("mine.json").write_text(json.dumps(config))
        code, out = quietly(scenario_summary.main, ["--config", "mine.json"])
        self.assertEqual(code, 0, out)
        self.assertIn("H100 PCIe", out)
        self.assertEqual(amped.estimateTrainingTime(config="mine.json"), amped.estimateTrainingTime("H100 PCIe"))
        self.assertEqual(quietly(scenario_summary.main, ["--config", "absent.json"])[0], 2)


if __name__ == "__main__":
    unittest.main()
