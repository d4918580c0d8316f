"""Chips, models, systems and plans as values."""

import math
import pickle
import tempfile
import unittest
from pathlib import Path

import orrery as o

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Values(unittest.TestCase):
    def test_equal_values_are_equal_and_survive_pickling(self):
        chip, einsum = o.Chip("gemmini"), o.Einsum.matmul("g", 64, 64, 64)
        mapping = o.Mapping(o.map(chip, einsum).mapping.levels())
        setup = o.Setup.from_file(EXAMPLES / "dataflow/gpt3_1t.txt")
        for value in (chip, chip.replace("Scratchpad.depth", 64), o.Model("gpt3-175b").replace("layers", 2),
                      o.System("dgx-h100"), einsum, mapping, setup, o.Plan(tp=8, recompute="full")):  # fmt: skip
            again = pickle.loads(pickle.dumps(value))
            self.assertEqual(again, value)
            self.assertEqual(hash(again), hash(value))
            self.assertEqual(repr(again), repr(value))
        self.assertNotEqual(chip, chip.replace("Scratchpad.depth", 64))
        self.assertEqual(
            chip.replace("Scratchpad.depth", 1).replace("Scratchpad.depth", 2), chip.replace("Scratchpad.depth", 2)
        )

    def test_a_prepared_chip_maps_as_the_program_does(self):
        chip, einsum = o.Chip("gemmini"), o.Einsum.matmul("g", 64, 64, 64)
        best, row = o.map(chip, einsum), o.map(chip, gemm=(64, 64, 64))[0]
        self.assertEqual((best.cycles, best.energy_pj), (row.cycles, row.energy_pj))
        self.assertEqual(chip.evaluate(einsum, best.mapping).energy_pj, best.energy_pj)
        self.assertTrue(best.certificate.optimal)
        with self.assertRaisesRegex(ValueError, "objective: edp, energy or delay is expected, not `speed`"):
            chip.map(einsum, objective="speed")
        with self.assertRaisesRegex(TypeError, "einsum: an Einsum is expected, not str"):
            chip.map("g")

    def test_changes_reach_the_program(self):
        chip = o.Chip("gemmini").replace("DRAM.read_bandwidth", 1)
        changed = o.map(chip, gemm=(64, 64, 64))[0]
        self.assertEqual(changed.cycles, chip.map(o.Einsum.matmul("g", 64, 64, 64)).cycles)
        self.assertNotEqual(changed.cycles, o.map(o.Chip("gemmini"), gemm=(64, 64, 64))[0].cycles)
        two = o.Model("gpt3-175b").replace("layers", 48)
        run = o.train(two, o.System("a100-selene"), gpus=64, global_batch=64, tp=8, pp=1, dp=8, micro_batch=1)
        self.assertEqual(run.config.model.layers, 48)

    def test_texts_and_files_are_read_at_once(self):
        with self.assertRaises(o.InputError) as caught:
            o.Chip("nothing.yaml")
        self.assertEqual(caught.exception.code, "O0100")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "setup.txt")
            file.write_bytes((EXAMPLES / "dataflow/gpt3_1t.txt").read_bytes())
            kept = pickle.dumps(o.Setup.from_file(file))
        with self.assertRaises(o.InputError):
            pickle.loads(kept)

    def test_einsums_are_changed_and_made(self):
        einsum = o.Einsum.matmul("g", 4, 5, 6)
        self.assertEqual(einsum.bounds, {"D": 4, "E": 5, "L": 6})
        self.assertEqual(einsum.replace("L", 7).operations, 4 * 5 * 7)
        again = o.Einsum("g", einsum.bounds, einsum._prepared.tensors())
        self.assertEqual(again, einsum)
        with self.assertRaisesRegex(KeyError, "no dimension `Q`"):
            einsum.replace("Q", 7)
        self.assertIn("KTQ", [name for name, _, _ in o.Model("bert-large").block(seq=128)])

    def test_what_is_no_mapping_of_this_einsum_is_refused_before_it_is_counted(self):
        chip, einsum = o.Chip("gemmini"), o.Einsum.matmul("g", 64, 64, 64)
        levels = chip.map(einsum).mapping.levels()
        self.assertEqual(chip.evaluate(einsum, o.Mapping(levels)).cycles, chip.map(einsum).cycles)
        for wrong in (
            levels[:-1],  # a storage is missing
            [*levels[:-1], ([1], *levels[-1][1:])],  # a dimension is missing
            [*levels[:-1], ([0, 0, 0], *levels[-1][1:])],  # loops that never run
            [*levels[:-1], (levels[-1][0], [0, 0, 1], *levels[-1][2:])],  # an order that has one twice
            [*levels[:-1], (*levels[-1][:5], 255, *levels[-1][6:])],  # tensors that there are not
            o.Chip("simba").map(einsum).mapping.levels(),
            chip.map(einsum.replace("L", 128)).mapping.levels(),
        ):
            with self.assertRaisesRegex(ValueError, "its loops are not those of `g` on a chip of"):
                chip.evaluate(einsum, o.Mapping(wrong))
        with self.assertRaisesRegex(TypeError, "eight entries a level"):
            o.Mapping([([1], [0])])

    def test_wrong_arguments_are_named(self):
        chip, einsum = o.Chip("gemmini"), o.Einsum.matmul("g", 64, 64, 64)
        for question, kind, said in (
            (lambda: chip.map(einsum, time_limit="3 s"), TypeError, "time_limit: a number of seconds is expected"),
            (lambda: chip.map(einsum, threads=1.5), TypeError, "threads: a whole number is expected, not 1.5"),
            (lambda: chip.map(einsum, objective=3), TypeError, "objective: names are expected, not 3"),
            (lambda: chip.evaluate("g", None), TypeError, "einsum: an Einsum is expected, not str"),
            (lambda: chip.evaluate(einsum, "m"), TypeError, "mapping: a Mapping is expected, not str"),
            (lambda: chip.replace(3, 3), TypeError, "path: text is expected, not int"),
            (lambda: o.Einsum.matmul("g", "a", 2, 3), TypeError, "m: a whole number is expected, not 'a'"),
            (lambda: o.Einsum.matmul("g", 0, 2, 3), ValueError, "m: at least 1 is expected, not 0"),
            (lambda: o.Model("bert-large").block(seq=-5), ValueError, "seq: at least 1 is expected, not -5"),
            (lambda: o.Plan(tp="x"), ValueError, "tp: a whole number from 1 to 50000 is expected"),
            (lambda: o.map(chip="gemmini", gemm=(64, 64, 64), memory="4 parsecs"), o.InputError, "4 parsecs"),
        ):
            with self.assertRaisesRegex(kind, said):
                question()

    def test_a_chip_whose_files_are_gone_is_as_it_was_read(self):
        einsum = o.Einsum.matmul("g", 64, 64, 64)
        with tempfile.TemporaryDirectory() as folder:
            for each in (EXAMPLES / "gemmini").glob("*.yaml"):
                Path(folder, each.name).write_bytes(each.read_bytes())
            chip = o.Chip.from_file(*sorted(Path(folder).glob("*.yaml")))
            cycles, kept = chip.map(einsum).cycles, pickle.dumps(chip)
        self.assertEqual(chip.map(einsum).cycles, cycles)
        for question in (lambda: pickle.loads(kept), lambda: chip.replace("DRAM.read_bandwidth", 3),
                         lambda: o.map(chip, gemm=(64, 64, 64))):  # fmt: skip
            with self.assertRaises(o.InputError) as caught:
                question()
            self.assertEqual(caught.exception.code, "O0100")

    def test_a_batch_of_plans_is_as_each_alone(self):
        model, system = o.Model("gpt3-175b"), o.System("a100-selene")
        base = o.Plan(gpus=1024, global_batch=1536, pp=8, recompute="selective", sequence_parallel=True)
        found = o.train_batch(model, system, {"tp": [8, 4, 3], "dp": [16, 32, 5]}, base)
        alone = o.train(model, system, gpus=1024, global_batch=1536, tp=8, pp=8, dp=16, micro_batch=1, interleave=1,
                        recompute="selective", sequence_parallel=True, schedule="1f1b", zero=0)  # fmt: skip
        self.assertEqual(alone.plan.zero, 0)
        self.assertAlmostEqual(found["time_s"][0] / alone.time_s, 1, delta=1e-12)
        self.assertEqual(found["memory_bytes"][0], alone.memory_bytes.total)
        self.assertTrue(math.isnan(found["time_s"][2]) and not found["fits"][2])
        listed = o.train_batch(
            model, system, [base.replace("tp", 8).replace("dp", 16), base.replace("tp", 4).replace("dp", 32)]
        )
        self.assertEqual(list(listed["time_s"]), list(found["time_s"][:2]))
        with self.assertRaisesRegex(ValueError, "dp: it has 1 values, but others have 2"):
            o.train_batch(model, system, {"tp": [8, 4], "dp": [16]}, base)
        with self.assertRaisesRegex(TypeError, "tp: a list of values is expected"):
            o.train_batch(model, system, {"tp": 8}, base)
        with self.assertRaisesRegex(TypeError, "system: a System or a name is expected, not int"):
            o.train_batch(model, 3, {"tp": [8]}, base)
        with self.assertRaisesRegex(TypeError, "no field `tpp`"):
            o.Plan(tpp=8)
        with self.assertRaisesRegex(ValueError, "tp: a whole number from 1 to 50000 is expected"):
            o.Plan(tp=-1)

    def test_the_package_is_used_as_it_was_asked_for(self):
        """The example of the request for this package, line by line."""
        chip = o.chip("gemmini")
        best = o.map(chip, o.model("bert-large"), seq=4096)
        self.assertEqual(best["KTQ"].why("Scratchpad.E=4").ratio.edp, 1)
        self.assertIs(best["KTQ"].certificate.optimal, True)
        run = o.best_plan("llama3-70b", "dgx-h100", gpus=512, global_batch=512)
        self.assertEqual((run.time_s, run.cost_usd), (run.iteration_s, run.cost.usd))
        self.assertEqual(run.expected_error, run.data["result"]["expected_error_percent"])
        self.assertEqual(run.memory_bytes.total, sum(v for k, v in run.memory_bytes.items() if k != "total"))
        with tempfile.TemporaryDirectory() as folder:
            run.trace(f"{folder}/run.json")
            self.assertGreater(Path(folder, "run.json").stat().st_size, 1000)
            sizes = [2**k for k in range(12, 20)]
            swept = o.sweep(chip, "bert-large", vary={"Scratchpad.entries": sizes}, store=f"{folder}/sweep.db")
            self.assertEqual([row["config.arch.Scratchpad.entries"] for row in swept.to_rows()], sizes)
        self.assertEqual(chip.replace("Scratchpad.entries", 65536), o.chip("gemmini").replace("Scratchpad.entries", 65536))
        self.assertIn("/vega/v5", o.validate("train").plot().spec["$schema"])
        mine = o.chip(*(EXAMPLES / "gemmini" / f"{name}.yaml" for name in ("arch", "constraints", "variables")))
        self.assertEqual(o.map(mine, o.model("bert-large"), seq=128)["KTQ"].cycles,
                         o.map(chip, o.model("bert-large"), seq=128)["KTQ"].cycles)


if __name__ == "__main__":
    unittest.main()
