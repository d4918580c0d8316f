"""The layer on Orrery's kernels is PyTorch's: results, gradients, masks, dropout."""

import copy
import io
import pickle
import unittest

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed: orrery.torch.EncoderLayer is not tested")

import orrery.torch as ot

BATCH, TOKENS, WIDTH = 3, 17, 64


def pair(**options):
    torch.manual_seed(0)
    options = {"dropout": 0.0, "batch_first": True, **options}
    theirs = torch.nn.TransformerEncoderLayer(WIDTH, 4, 128, **options)
    for each in theirs.parameters():  # norms and biases are not left as they begin
        torch.nn.init.normal_(each, std=0.3)
    return theirs, ot.EncoderLayer.of(theirs)


def masks():
    padded = torch.zeros(BATCH, TOKENS, dtype=torch.bool)
    padded[0, -4:] = True
    causal = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    slopes = torch.randn(BATCH * 4, TOKENS, TOKENS)
    yield {}
    yield {"src_key_padding_mask": padded}
    yield {"src_mask": causal, "is_causal": True}
    yield {"src_mask": slopes, "src_key_padding_mask": torch.zeros(BATCH, TOKENS).masked_fill(padded, -torch.inf)}


class Layers(unittest.TestCase):
    def close(self, mine, theirs, within=2e-6):
        self.assertLess(((mine - theirs).abs().max() / theirs.abs().max()).item(), within)

    def test_have_the_results_and_gradients_of_pytorch(self):
        for pre in (False, True):
            for activation in ("relu", torch.nn.GELU()):
                for bias in (True, False):
                    theirs, mine = pair(norm_first=pre, activation=activation, bias=bias)
                    x, weight = torch.randn(2, BATCH, TOKENS, WIDTH)
                    x.requires_grad_()
                    for given in masks():
                        with self.subTest(pre=pre, activation=str(activation), bias=bias, masks=list(given)):
                            found = []
                            for layer in (mine, theirs):
                                y = layer(x, **given)
                                found.append([y, *torch.autograd.grad((y * weight).sum(), [x, *layer.parameters()])])
                            for one, other in zip(*found):
                                self.close(one, other)

    def test_have_gradients_that_finite_differences_give(self):
        _, layer = pair(activation="gelu", norm_first=True)
        x, along = torch.randn(2, 2, 5, WIDTH)
        x.requires_grad_()
        layer(x).square().sum().backward()
        with torch.no_grad():
            up, down = (layer(x + step * along).double().square().sum() for step in (1e-2, -1e-2))
        self.assertAlmostEqual(((up - down) / 2e-2 / (x.grad * along).sum()).item(), 1, delta=1e-3)

    def test_in_bfloat16_are_those_of_float32_to_its_rounding(self):
        _, layer = pair()
        x = torch.randn(BATCH, TOKENS, WIDTH)
        short = x.bfloat16().requires_grad_()
        y = layer(short)
        y.float().square().sum().backward()
        self.assertEqual((y.dtype, short.grad.dtype, layer.linear1.weight.grad.dtype),
                         (torch.bfloat16, torch.bfloat16, torch.float32))
        self.assertLess(((y.float() - layer(x)).norm() / layer(x).norm()).item(), 2e-2)

    def test_learn_as_pytorch_does(self):
        theirs, mine = pair()
        mine = copy.deepcopy(mine)
        x, goal = torch.randn(2, BATCH, TOKENS, WIDTH)
        losses = []
        for layer in (theirs, mine):
            optimiser, told = torch.optim.AdamW(layer.parameters(), lr=1e-3), []
            for _ in range(5):
                optimiser.zero_grad()
                loss = (layer(x) - goal).square().mean()
                loss.backward()
                optimiser.step()
                told.append(loss.item())
            losses.append(told)
        self.assertLess(losses[1][-1], losses[1][0])
        for one, other in zip(*losses):
            self.assertAlmostEqual(one / other, 1, delta=1e-4)

    def test_see_weights_that_change_by_the_back_door(self):
        theirs, mine = pair()
        x = torch.randn(1, TOKENS, WIDTH)
        with torch.no_grad():
            mine(x)
            theirs.linear1.weight.data.mul_(2)
            self.close(mine(x), theirs(x))

    def test_that_run_twice_before_their_gradients_keep_both(self):
        theirs, mine = pair()
        x = torch.randn(BATCH, TOKENS, WIDTH, requires_grad=True)
        for layer in (theirs, mine):
            layer(layer(x)).square().sum().backward()
            x.grad, kept = None, x.grad
            layer.kept = kept
        self.close(mine.kept, theirs.kept, 1e-5)
        y = mine(x).sum()
        y.backward(retain_graph=True)
        with self.assertRaisesRegex(RuntimeError, "run the layer again"):
            y.backward()

    def test_drop_what_their_seed_says_and_nothing_when_evaluated(self):
        layer = ot.EncoderLayer(WIDTH, 4, 128, 0.5)
        x = torch.randn(BATCH, TOKENS, WIDTH)

        def seeded(seed):
            torch.manual_seed(seed)
            return layer(x)

        self.assertTrue(torch.equal(seeded(1), seeded(1)))
        self.assertFalse(torch.equal(seeded(1), seeded(2)))
        layer.eval()
        self.assertTrue(torch.equal(seeded(1), seeded(2)))

    def test_are_stacked_copied_and_saved(self):
        layer = ot.EncoderLayer(WIDTH, 4, 128, 0.0)
        x = torch.randn(BATCH, TOKENS, WIDTH)
        stack = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.assertEqual(stack(x).shape, x.shape)
        self.assertTrue(torch.equal(pickle.loads(pickle.dumps(layer))(x), layer(x)))
        file = io.BytesIO()
        torch.save(layer.state_dict(), file)
        file.seek(0)
        plain = torch.nn.TransformerEncoderLayer(WIDTH, 4, 128, 0.0, batch_first=True)
        plain.load_state_dict(torch.load(file))
        self.close(layer(x), plain(x))
        self.close(layer(x[0]), plain(x[0]))

    def test_refuse_what_they_cannot_run_by_name(self):
        layer = ot.EncoderLayer(WIDTH, 4, 128)
        x = torch.zeros(2, 3, WIDTH)
        for question, kind, said in (
            (lambda: layer(x.double()), TypeError, "src: float32 or bfloat16 is expected, not torch.float64"),
            (lambda: layer(x[..., 1:]), ValueError, r"src: \[batch, tokens, 64\] is expected, not \[2, 3, 63\]"),
            (lambda: layer(x, torch.zeros(2, 2)), ValueError, r"src_mask: \[3, 3\] is expected, not \[2, 2\]"),
            (lambda: layer(x, torch.zeros(3, 3).long()), TypeError, "src_mask: booleans or floating-point numbers"),
            (lambda: layer(x, torch.zeros(3, 3, requires_grad=True)), ValueError, "src_mask: masks have no gradients"),
            (lambda: layer(x, is_causal=True), ValueError, "is_causal: it is a hint about src_mask"),
            (lambda: ot.EncoderLayer(WIDTH, 4, batch_first=False), ValueError, "batch_first: True is expected"),
            (lambda: ot.EncoderLayer(WIDTH, 4, activation=torch.tanh), ValueError, "activation: relu or gelu"),
        ):
            with self.assertRaisesRegex(kind, said):
                question()


if __name__ == "__main__":
    unittest.main()
