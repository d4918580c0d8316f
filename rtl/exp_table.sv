// Table of an exponential unit: d(f) = 2^a - a, a in f's interval of [0, 1).
//
// Interface: `index`: the interval, of 2^TABLE_BITS; `entry`: d, rounded half up to FRACTION bits behind the point. a is the
//   interval's left edge, or with MIDDLES = 1 its middle, but for the first one, where it is 0. With TABLE_BITS = 0 there is
//   one entry: the middle between the most and the least of 2^a - a.
// Timing: combinational; constants and a multiplexer. Reset: none.
// Limits: TABLE_BITS <= 6; FRACTION 4 to 41, up to which rounding the constants below is exact.
module exp_table #(
    parameter int TABLE_BITS = 6,
    parameter int FRACTION = 20,
    parameter int MIDDLES = 0
) (
    input  logic [(TABLE_BITS == 0 ? 1 : TABLE_BITS)-1:0] index,
    output logic [FRACTION:0] entry
);
  localparam int ENTRIES = 1 << TABLE_BITS;

  // 2^(k/128) - k/128 with 48 bits behind the point, the last one first.
  localparam logic [128*52-1:0] EXACT = {
      52'h0ff3c22b8f71f, 52'h0fe7c1819e90e, 52'h0fdbfdad9cbe1, 52'h0fd0765b6e454,
      52'h0fc52b376bba9, 52'h0fba1bee615a2, 52'h0faf482d8e67f, 52'h0fa4afa2a490e,
      52'h0f9a51fbc74c8, 52'h0f902ee78b3ff, 52'h0f864614f5a13, 52'h0f7c97337b9b6,
      52'h0f7321f301b46, 52'h0f69e603db328, 52'h0f60e316c9839, 52'h0f5818dcfba48,
      52'h0f4f87080d89f, 52'h0f472d4a07898, 52'h0f3f0b555dc40, 52'h0f3720dcef907,
      52'h0f2f6d9406e7b, 52'h0f27f12e57d15, 52'h0f20ab5fffd08, 52'h0f199bdd8552a,
      52'h0f12c25bd71e1, 52'h0f0c1e904bc1d, 52'h0f05b030a1065, 52'h0eff76f2fb5e4,
      52'h0ef9728de5594, 52'h0ef3a2b84f160, 52'h0eee07298db66, 52'h0ee89f995ad3b,
      52'h0ee36bbfd3f38, 52'h0ede6b5579fdc, 52'h0ed99e1330b36, 52'h0ed503b23e256,
      52'h0ed09bec4a2d3, 52'h0ecc667b5de56, 52'h0ec86319e3232, 52'h0ec49182a3f09,
      52'h0ec0f170ca07c, 52'h0ebd829fde4e5, 52'h0eba44cbc8521, 52'h0eb737b0cdc5e,
      52'h0eb45b0b91ffc, 52'h0eb1ae9915773, 52'h0eaf3216b5449, 52'h0eace5422aa0e,
      52'h0eaac7d98a66a, 52'h0ea8d99b4492f, 52'h0ea71a4623c7b, 52'h0ea589994cce1,
      52'h0ea427543e1a1, 52'h0ea2f336cf4e6, 52'h0ea1ed0130c13, 52'h0ea11473eb018,
      52'h0ea0694fde5d4, 52'h0e9feb564267d, 52'h0e9f9a48a5817, 52'h0e9f75e8ec5f7,
      52'h0e9f7df951948, 52'h0e9fb23c651a3, 52'h0ea012750bdac, 52'h0ea09e667f3bd,
      52'h0ea155d44ca97, 52'h0ea2388255222, 52'h0ea34634ccc32, 52'h0ea47eb03a558,
      52'h0ea5e1b976dc1, 52'h0ea76f15ad215, 52'h0ea9268a5946b, 52'h0eab07dd48543,
      52'h0ead12d497c80, 52'h0eaf4736b527e, 52'h0eb1a4ca5d921, 52'h0eb42b569d4f8,
      52'h0eb6daa2cf664, 52'h0eb9b2769d2ca, 52'h0ebcb299fddd1, 52'h0ebfdad5362a2,
      52'h0ec32af0d7d3e, 52'h0ec6a2b5c13cd, 52'h0eca41ed1d005, 52'h0ece086061893,
      52'h0ed1f5d950a89, 52'h0ed60a21f72e3, 52'h0eda4504ac802, 52'h0edea64c12342,
      52'h0ee32dc313a8e, 52'h0ee7db34e59ff, 52'h0eecae6d05d86, 52'h0ef1a7373aa9d,
      52'h0ef6c55f929ff, 52'h0efc08b264170, 52'h0f0170fc4cd83, 52'h0f06fe0a31b71,
      52'h0f0cafa93e2f5, 52'h0f1285a6e4031, 52'h0f187fd0dad99, 52'h0f1e9df51fdee,
      52'h0f24dfe1f5638, 52'h0f2b4565e27ce, 52'h0f31ce4fb2a64, 52'h0f387a6e75624,
      52'h0f3f49917ddc9, 52'h0f463b88628cd, 52'h0f4d5022fcd92, 52'h0f54873168b9b,
      52'h0f5be084045cd, 52'h0f635beb6fcb7, 52'h0f6af9388c8df, 52'h0f72b83c7d518,
      52'h0f7a98c8a58e5, 52'h0f829aaea92de, 52'h0f8abdc06c31d, 52'h0f9301d0125b5,
      52'h0f9b66affed32, 52'h0fa3ec32d3d1a, 52'h0fac922b7247f, 52'h0fb5586cf9891,
      52'h0fbe3ecac6f38, 52'h0fc74518759bd, 52'h0fd06b29ddf6e, 52'h0fd9b0d315857,
      52'h0fe315e86e7f8, 52'h0fec9a3e77806, 52'h0ff63da9fb333, 52'h1000000000000
  };
  localparam logic [51:0] MIDDLE = 52'h0f4fb9d55d92a;
  localparam logic [51:0] HALF = 52'd1 << (48 - FRACTION - 1);

  // An entry every 64 bits, so that choosing one is a multiplexer.
  logic [ENTRIES*64-1:0] entries;
  for (genvar i = 0; i < ENTRIES; i++) begin : interval
    localparam int AT = i == 0 ? 0 : MIDDLES != 0 ? (2 * i + 1) << (6 - TABLE_BITS) : i << (7 - TABLE_BITS);
    localparam logic [51:0] WHOLE = TABLE_BITS == 0 ? MIDDLE : EXACT[AT*52+:52];
    localparam logic [51:0] ROUNDED = (WHOLE + HALF) >> (48 - FRACTION);
    assign entries[i*64+:64] = 64'(ROUNDED);
  end
  if (TABLE_BITS == 0) begin : one_constant
    assign entry = entries[FRACTION:0];
    logic unused;
    assign unused = &{1'b0, index, entries};
  end else begin : choice
    assign entry = entries[{index, 6'd0}+:FRACTION+1];
  end
endmodule
