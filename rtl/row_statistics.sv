// A row's running maximum of predicted scores and sum of exponentials relative to it.
//
//   z > most:  sum <= sum e(most - z) + 1, floored, most <= z;     else  sum <= sum + e(z - most)
//
// Interface: `clear`: the least score and 0; `take`: one more score `z`, SCORE_POINT bits behind the point. `sum` has POINT.
// Timing: a score a cycle; outputs are registers. Reset: `rst`, synchronous: as `clear`.
// Limits: POINT >= SCORE_POINT.
module row_statistics #(
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int SCORE_BITS = 16,
    parameter int SCORE_POINT = 10,
    parameter int TABLE_BITS = 6,
    parameter int LONG = 1
) (
    input  logic clk,
    input  logic rst,
    input  logic clear,
    input  logic take,
    input  logic signed [SCORE_BITS-1:0] z,
    output logic signed [SCORE_BITS-1:0] most,
    output logic [BITS-1:0] sum
);
  localparam int TO_SUM = POINT - SCORE_POINT;
  localparam int LEFT_BITS = SCORE_BITS + 1 + TO_SUM;
  localparam int IN_BITS = LEFT_BITS > POINT + 6 ? LEFT_BITS : POINT + 6;
  localparam int PRODUCT_BITS = BITS + POINT + 1;

  logic grows;
  logic signed [SCORE_BITS:0] difference;
  logic [POINT:0] part;
  logic [PRODUCT_BITS-1:0] product;
  assign grows = z > most;
  assign difference = grows ? (SCORE_BITS + 1)'(most) - (SCORE_BITS + 1)'(z) : (SCORE_BITS + 1)'(z) - (SCORE_BITS + 1)'(most);
  signed_exp_unit #(
      .IN_BITS(IN_BITS),
      .POINT(POINT),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG)
  ) unit (
      .x(IN_BITS'(difference) <<< TO_SUM),
      .y(part)
  );
  assign product = PRODUCT_BITS'(sum) * PRODUCT_BITS'(part);

  always_ff @(posedge clk) begin
    if (rst || clear) begin
      most <= {1'b1, {(SCORE_BITS - 1) {1'b0}}};
      sum  <= '0;
    end else if (take) begin
      most <= grows ? z : most;
      sum  <= grows ? BITS'(product >> POINT) + (BITS'(1) << POINT) : sum + BITS'(part);
    end
  end
endmodule
