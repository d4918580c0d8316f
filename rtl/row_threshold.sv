// A row's threshold of predicted scores: those above it have a softmax above the threshold of the layer.
//
//   t = min(most + (log2 sum + log2_threshold) ln 2, floored, most - 1): the row's largest score always stays
//
// Interface: `log2_threshold`: 16 bits behind the point, from -128 on; `most` and `sum` of row_statistics; `t` in the scores' unit.
// Timing: combinational. Reset: none.
module row_threshold #(
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int SCORE_BITS = 16,
    parameter int SCORE_POINT = 10
) (
    input  logic signed [23:0] log2_threshold,
    input  logic signed [SCORE_BITS-1:0] most,
    input  logic [BITS-1:0] sum,
    output logic signed [SCORE_BITS+7:0] t
);
  localparam int T_BITS = SCORE_BITS + 8;
  localparam logic signed [43:0] LN2 = 44'sd45426;  // 16 bits behind the point

  logic signed [23:0] log2_sum;
  logic signed [43:0] below;
  logic signed [T_BITS-1:0] exact, next;
  log2_unit #(
      .BITS (BITS),
      .POINT(POINT)
  ) logarithm (
      .x(sum),
      .y(log2_sum)
  );
  assign below = ((44'(log2_sum) + 44'(log2_threshold)) * LN2) >>> (32 - SCORE_POINT);
  assign exact = T_BITS'(most) + T_BITS'(below);
  assign next = T_BITS'(most) - T_BITS'(1);
  assign t = exact < next ? exact : next;
  logic unused;
  assign unused = &{1'b0, below};
endmodule
