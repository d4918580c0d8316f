// From a sum of products of offset codes to a predicted score.
//
//   s = sum - o (row_sum + key_sum) + depth o^2, o = 2^(CODE_BITS - 1);   z = (s query_factor key_factor) 2^-shift, rounded half up, saturated
//
// Interface: sums of the row's and the key's offset codes beside that of their products; `z`: SCORE_BITS bits, signed;
//   `saturated`: it did not fit.
// Timing: combinational. Reset: none. Limits: `shift` 1 to 60.
module score_rescale #(
    parameter int CODE_BITS = 4,
    parameter int SUM_BITS = 14,
    parameter int CODE_SUM_BITS = 10,
    parameter int DEPTH_BITS = 7,
    parameter int SCORE_BITS = 16
) (
    input  logic [SUM_BITS-1:0] sum,
    input  logic [CODE_SUM_BITS-1:0] row_sum,
    input  logic [CODE_SUM_BITS-1:0] key_sum,
    input  logic [DEPTH_BITS-1:0] depth,
    input  logic [15:0] query_factor,
    input  logic [15:0] key_factor,
    input  logic [5:0] shift,
    output logic signed [SCORE_BITS-1:0] z,
    output logic saturated
);
  localparam int SIGNED_BITS = SUM_BITS + 3;
  localparam int WIDE = SIGNED_BITS + 33;

  logic signed [SIGNED_BITS-1:0] score;
  logic [31:0] factor;
  logic signed [WIDE-1:0] product, rounded;
  assign score = SIGNED_BITS'({1'b0, sum}) - ((SIGNED_BITS'(row_sum) + SIGNED_BITS'(key_sum)) << (CODE_BITS - 1)) +
      (SIGNED_BITS'(depth) << (2 * CODE_BITS - 2));
  assign factor = 32'(query_factor) * 32'(key_factor);
  assign product = WIDE'(score) * WIDE'(signed'({1'b0, factor}));
  assign rounded = ((product >>> (shift - 6'd1)) + WIDE'(1)) >>> 1;
  assign saturated = !(&rounded[WIDE-1:SCORE_BITS-1] || ~|rounded[WIDE-1:SCORE_BITS-1]);
  assign z = saturated ? {rounded[WIDE-1], {(SCORE_BITS - 1) {!rounded[WIDE-1]}}} : rounded[SCORE_BITS-1:0];
endmodule
