// Exponential unit for numbers that are not positive: y about e^x, from 0 to 1.
//
//   w = x (1 + 1/2 - 1/16 [+ 1/256 + 1/1024]) with as many bits more behind the point as lose nothing;  w = u + f, u = floor(w)
//   y = 2^u (f + d(f)), floored;  d(f) = 2^a - a, a the middle of f's part of [0, 1), 0 in the first part
//
// Interface: `x`: signed, at most 0, IN_BITS bits; a number that is not sums up to nothing that is defined. `y`: POINT + 1 bits,
//   POINT of them behind the point, as x has.
// Timing: combinational. Reset: none.
// Limits: 1 <= POINT <= 24; IN_BITS >= POINT + 6; 1 <= TABLE_BITS <= 6. LONG: whether the sum has its last two terms.
module signed_exp_unit #(
    parameter int IN_BITS = 33,
    parameter int POINT = 16,
    parameter int TABLE_BITS = 6,
    parameter int LONG = 1
) (
    input  logic signed [IN_BITS-1:0] x,
    output logic [POINT:0] y
);
  localparam int APPEND = LONG != 0 ? 10 : 4;
  localparam int FRACTION = POINT + APPEND;
  localparam int WIDE = POINT + 8 + APPEND;
  localparam logic signed [IN_BITS-1:0] LEAST = -(IN_BITS'(POINT + 1) << POINT);

  // Numbers below LEAST give 0; the others fit POINT + 6 bits.
  logic signed [WIDE-1:0] wide, rest, product;
  logic signed [WIDE-FRACTION-1:0] whole;
  logic [WIDE-FRACTION-1:0] places;
  logic [FRACTION:0] part, entry, sum;
  assign wide = WIDE'(signed'(x[POINT+5:0])) <<< APPEND;
  if (LONG != 0) begin : long_sum
    assign rest = (wide >>> 8) + (wide >>> 10);
  end else begin : short_sum
    assign rest = '0;
  end
  assign product = wide + (wide >>> 1) - (wide >>> 4) + rest;
  assign whole = product[WIDE-1:FRACTION];
  assign part = {1'b0, product[FRACTION-1:0]};
  exp_table #(
      .TABLE_BITS(TABLE_BITS),
      .FRACTION(FRACTION),
      .MIDDLES(1)
  ) corrections (
      .index(product[FRACTION-1-:TABLE_BITS]),
      .entry
  );
  assign sum = part + entry;
  assign places = (WIDE - FRACTION)'(APPEND) - whole;
  assign y = x < LEAST ? '0 : (POINT + 1)'(sum >> places);
endmodule
