"""Attention on arrays where they lie."""

import unittest

try:
    import numpy
except ImportError:
    raise unittest.SkipTest("NumPy is not installed: attention on arrays is not tested")

import orrery as o

B, H, SHARED, QUERIES, KEYS, SIZE, WIDE = 2, 4, 2, 9, 13, 16, 8


def arrays():
    draw = numpy.random.default_rng(1).standard_normal
    shapes = (B, H, QUERIES, SIZE), (B, SHARED, KEYS, SIZE), (B, SHARED, KEYS, WIDE)
    return [draw(shape, dtype=numpy.float32) for shape in shapes]


def plain(query, key, value, kept=True, scale=SIZE**-0.5):
    """By its formula, in doubles."""
    key, value = (numpy.repeat(each, H // SHARED, 1).astype(float) for each in (key, value))
    scores = query.astype(float) @ key.swapaxes(2, 3) * scale
    weights = numpy.where(kept, numpy.exp(scores), 0)
    total = weights.sum(-1, keepdims=True)
    return weights / numpy.where(total > 0, total, 1) @ value


class Attention(unittest.TestCase):
    def test_is_that_of_its_formula(self):
        q, k, v = arrays()
        numpy.testing.assert_allclose(o.attention(q, k, v), plain(q, k, v), atol=2e-6)
        numpy.testing.assert_allclose(o.attention(q, k, v, scale=0.5), plain(q, k, v, scale=0.5), atol=2e-6)
        causal = numpy.tri(QUERIES, KEYS, KEYS - QUERIES, dtype=bool)
        numpy.testing.assert_allclose(o.attention(q, k, v, causal=True), plain(q, k, v, causal), atol=2e-6)

    def test_sees_the_keys_that_a_mask_keeps(self):
        q, k, v = arrays()
        for shape in ((B, H), (1, H), (B, 1), (1, 1)):
            kept = numpy.random.default_rng(2).random((*shape, QUERIES, KEYS)) < 0.4
            kept[:, :, 3] = False  # a query that keeps nothing
            found = o.attention(q, k, v, mask=kept)
            numpy.testing.assert_allclose(found, plain(q, k, v, kept), atol=2e-6)
            self.assertFalse(found[:, :, 3].any())

    def test_reads_and_writes_arrays_where_they_lie(self):
        q, k, v = arrays()
        expected = o.attention(q, k, v)
        behind = numpy.zeros((B, QUERIES, H, WIDE), numpy.float32)
        turned = [numpy.ascontiguousarray(each.swapaxes(1, 2)).swapaxes(1, 2) for each in (q, k, v)]
        out = o.attention(*turned, out=behind.swapaxes(1, 2))
        self.assertIs(out.base, behind)
        numpy.testing.assert_array_equal(behind.swapaxes(1, 2), expected)

    def test_of_nothing_is_nothing(self):
        q, k, v = arrays()
        self.assertEqual(o.attention(q[:0], k[:0], v[:0]).shape, (0, H, QUERIES, WIDE))
        self.assertFalse(o.attention(q, k[:, :, :0], v[:, :, :0]).any())

    def test_refuses_arrays_of_another_kind_by_name(self):
        q, k, v = arrays()
        kept = numpy.ones((B, H, QUERIES, KEYS), bool)
        for question, kind, said in (
            (lambda: o.attention(q.tolist(), k, v), TypeError, "query: a NumPy array is expected, not list"),
            (lambda: o.attention(q, k.astype(float), v), TypeError, "key: float32 is expected, not float64"),
            (lambda: o.attention(q, k[:1], v), ValueError, r"key: \[2, any, any, 16\] is expected, not \[1,"),
            (lambda: o.attention(q, k, numpy.asfortranarray(v)), ValueError, "value: the elements of a head lie tog"),
            (lambda: o.attention(q[:, :3], k, v), ValueError, "its 2 heads do not divide the 3 of query"),
            (lambda: o.attention(q, k, v, mask=kept.astype(float)), TypeError, "mask: booleans are expected, not flo"),
            (lambda: o.attention(q, k, v, mask=kept[0]), ValueError, r"mask: \[1 or 2, 1 or 4, 9, 13\] is expected"),
            (lambda: o.attention(q, k, v, mask=numpy.asfortranarray(kept)), ValueError, "mask: it is not in C's order"),
            (lambda: o.attention(q, q, q, out=q), ValueError, "out: it lies where query, key or value lie"),
        ):
            with self.assertRaisesRegex(kind, said):
                question()


if __name__ == "__main__":
    unittest.main()
