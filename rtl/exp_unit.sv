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
  localparam int INDEX_BITS = TABLE_BITS == 0 ? 1 : TABLE_BITS;
  localparam int SHIFT_BITS = $clog2(WIDTH + 1);

  logic [WIDTH-1:0] wide, product, part, sum;
  logic [WIDTH-FRACTION-1:0] whole;
  logic [INDEX_BITS-1:0] index;
  logic [FRACTION:0] entry;
  assign wide = {x, {APPEND{1'b0}}};
  assign product = wide + (wide >> 1) - (wide >> 4);
  assign whole = product[WIDTH-1:FRACTION];
  assign part = {{(WIDTH - FRACTION) {1'b0}}, product[FRACTION-1:0]};
  assign sum = part + WIDTH'(entry);
  assign index = TABLE_BITS == 0 ? '0 : product[FRACTION-1-:INDEX_BITS];
  exp_table #(
      .TABLE_BITS(TABLE_BITS),
      .FRACTION  (FRACTION)
  ) corrections (
      .index,
      .entry
  );
  assign y = 32'(whole) >= WIDTH ? '0 : BITS'((sum << SHIFT_BITS'(whole)) >> APPEND);
endmodule
