// A delay of DELAY cycles, 0 or more.
//
// Interface: `out` is what `in` was. Timing: DELAY registers; none for 0. Reset: `rst`, synchronous: zeros are inside.
module skew #(
    parameter int BITS  = 4,
    parameter int DELAY = 1
) (
    input  logic clk,
    input  logic rst,
    input  logic [BITS-1:0] in,
    output logic [BITS-1:0] out
);
  if (DELAY == 0) begin : none
    assign out = in;
    logic unused;
    assign unused = &{1'b0, clk, rst};
  end else if (DELAY == 1) begin : one
    always_ff @(posedge clk) out <= rst ? '0 : in;
  end else begin : some
    logic [DELAY*BITS-1:0] held;
    always_ff @(posedge clk) held <= rst ? '0 : {held[(DELAY-1)*BITS-1:0], in};
    assign out = held[(DELAY-1)*BITS+:BITS];
  end
endmodule
