// Exponential unit: y about e^x for a number that is not negative, by shifts, a table and one shift more.
//
//   w = x (1 + 1/2 - 1/16), with APPEND bits more behind the point;  w = u + f, u whole
//   y = 2^u (f + d(f)), d(f) = 2^a - a at the left edge a of f's part of [0, 1)
//
// Interface: `x`, `y`: numbers of BITS bits, POINT of them behind the point. A negative pattern is read as an unsigned one.
// Timing: combinational. Reset: none, it holds nothing.
// Limits: APPEND >= 4; 0 <= TABLE_BITS <= 6 (2^TABLE_BITS entries; 0: one constant); POINT + APPEND <= 41.
module exp_unit #(
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int TABLE_BITS = 6,
    parameter int APPEND = 4
) (
    input  logic [BITS-1:0] x,
    output logic [BITS-1:0] y
);
  localparam int WIDTH = BITS + APPEND;
  localparam int FRACTION = POINT + APPEND;
  localparam int ENTRIES = 1 << TABLE_BITS;
  localparam int INDEX_BITS = TABLE_BITS == 0 ? 1 : TABLE_BITS;
  localparam int SHIFT_BITS = $clog2(WIDTH + 1);

  // 2^(i/64) - i/64 with 48 bits behind the point, entry 63 first.
  localparam logic [64*52-1:0] CORRECTIONS = {
    52'h0fe7c1819e90e, 52'h0fd0765b6e454, 52'h0fba1bee615a2, 52'h0fa4afa2a490e,
    52'h0f902ee78b3ff, 52'h0f7c97337b9b6, 52'h0f69e603db328, 52'h0f5818dcfba48,
    52'h0f472d4a07898, 52'h0f3720dcef907, 52'h0f27f12e57d15, 52'h0f199bdd8552a,
    52'h0f0c1e904bc1d, 52'h0eff76f2fb5e4, 52'h0ef3a2b84f160, 52'h0ee89f995ad3b,
    52'h0ede6b5579fdc, 52'h0ed503b23e256, 52'h0ecc667b5de56, 52'h0ec49182a3f09,
    52'h0ebd829fde4e5, 52'h0eb737b0cdc5e, 52'h0eb1ae9915773, 52'h0eace5422aa0e,
    52'h0ea8d99b4492f, 52'h0ea589994cce1, 52'h0ea2f336cf4e6, 52'h0ea11473eb018,
    52'h0e9feb564267d, 52'h0e9f75e8ec5f7, 52'h0e9fb23c651a3, 52'h0ea09e667f3bd,
    52'h0ea2388255222, 52'h0ea47eb03a558, 52'h0ea76f15ad215, 52'h0eab07dd48543,
    52'h0eaf4736b527e, 52'h0eb42b569d4f8, 52'h0eb9b2769d2ca, 52'h0ebfdad5362a2,
    52'h0ec6a2b5c13cd, 52'h0ece086061893, 52'h0ed60a21f72e3, 52'h0edea64c12342,
    52'h0ee7db34e59ff, 52'h0ef1a7373aa9d, 52'h0efc08b264170, 52'h0f06fe0a31b71,
    52'h0f1285a6e4031, 52'h0f1e9df51fdee, 52'h0f2b4565e27ce, 52'h0f387a6e75624,
    52'h0f463b88628cd, 52'h0f54873168b9b, 52'h0f635beb6fcb7, 52'h0f72b83c7d518,
    52'h0f829aaea92de, 52'h0f9301d0125b5, 52'h0fa3ec32d3d1a, 52'h0fb5586cf9891,
    52'h0fc74518759bd, 52'h0fd9b0d315857, 52'h0fec9a3e77806, 52'h1000000000000
  };
  // With one constant: the middle between the most, 1, and the least of 2^a - a.
  localparam logic [51:0] MIDDLE = 52'h0f4fb9d55d92a;
  localparam logic [51:0] HALF = 52'd1 << (48 - FRACTION - 1);

  // An entry every 64 bits, so that choosing one is a multiplexer.
  logic [ENTRIES*64-1:0] corrections;
  for (genvar i = 0; i < ENTRIES; i++) begin : entry
    localparam logic [51:0] EXACT = TABLE_BITS == 0 ? MIDDLE : CORRECTIONS[(i<<(6-TABLE_BITS))*52+:52];
    localparam logic [51:0] ROUNDED = (EXACT + HALF) >> (48 - FRACTION);
    assign corrections[i*64+:64] = 64'(ROUNDED);
  end

  logic [WIDTH-1:0] wide, product, part, sum;
  logic [WIDTH-FRACTION-1:0] whole;
  logic [INDEX_BITS-1:0] index;
  assign wide = {x, {APPEND{1'b0}}};
  assign product = wide + (wide >> 1) - (wide >> 4);
  assign whole = product[WIDTH-1:FRACTION];
  assign part = {{(WIDTH - FRACTION) {1'b0}}, product[FRACTION-1:0]};
  assign sum = part + corrections[{index, 6'd0}+:WIDTH];
  assign y = 32'(whole) >= WIDTH ? '0 : BITS'((sum << SHIFT_BITS'(whole)) >> APPEND);
  if (TABLE_BITS == 0) begin : one_constant
    assign index = '0;
  end else begin : a_table
    assign index = product[FRACTION-1-:INDEX_BITS];
  end
endmodule
