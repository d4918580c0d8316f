// A PE of the prediction array: the sum of products of a query's and a key's codes stays where it is, codes pass on.
//
// Interface: `command`: 0 idle, 1 clear, 2 calculate (sum += the codes held; take the neighbours'), 3 move (sum <= `sum_in`).
//   `left`, `top`: unsigned codes of the neighbours; `right`, `bottom`: those held. Sums are modulo 2^SUM_BITS.
// Timing: outputs are registers. Reset: `rst`, synchronous: all 0.
module prediction_pe #(
    parameter int CODE_BITS = 4,
    parameter int SUM_BITS  = 11
) (
    input  logic clk,
    input  logic rst,
    input  logic [1:0] command,
    input  logic [CODE_BITS-1:0] left,
    input  logic [CODE_BITS-1:0] top,
    input  logic [SUM_BITS-1:0] sum_in,
    output logic [CODE_BITS-1:0] right,
    output logic [CODE_BITS-1:0] bottom,
    output logic [SUM_BITS-1:0] sum
);
  localparam logic [1:0] CLEAR = 2'd1, CALCULATE = 2'd2, MOVE = 2'd3;
  localparam int PRODUCT_BITS = 2 * CODE_BITS;

  logic [PRODUCT_BITS-1:0] product;
  assign product = PRODUCT_BITS'(right) * PRODUCT_BITS'(bottom);

  always_ff @(posedge clk) begin
    if (rst || command == CLEAR) begin
      right  <= '0;
      bottom <= '0;
      sum    <= '0;
    end else if (command == CALCULATE) begin
      right  <= left;
      bottom <= top;
      sum    <= sum + SUM_BITS'(product);
    end else if (command == MOVE) begin
      sum <= sum_in;
    end
  end
endmodule
