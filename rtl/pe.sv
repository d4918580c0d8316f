// A PE of the sparse array: a kept entry of the mask; its score, its exponential, and a delay for the sums that pass it.
//
//   a = c1 < PORTS ? query register c1 : c1 == PORTS ? own exponential : 0
//   b = c2 < PORTS ? key register c2 : 0;              product = the low bits of (a b) >> POINT, floored
//   c3: 0 clear accumulator and chain; 1 idle; 2 accumulator += product;
//       3 accumulator <= o_in + product, the chain takes the accumulator, o_out is what it was c4 chained cycles ago
//   c5: 0 idle; 1 exponential <= e^accumulator; 2 exponential <= score_in;
//       4 exponential <= e^(accumulator - maximum), 0 where c1 > PORTS, that is, in an idle PE
//
// Interface: `row_in`, `col_in`: PORTS numbers of BITS bits, POINT of them behind the point. `o_out` follows c4 without a
//   clock and means something while c3 is 3. A c4 beyond CHAIN sends 0. With PUBLISHED = 0 there is no unit for c5 = 1.
// Timing: `accumulator` and `score_out` are registers. Reset: `rst`, synchronous: all 0.
module pe #(
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int PORTS = 8,
    parameter int CHAIN = 4,
    parameter int PORT_BITS = 4,
    parameter int DELAY_BITS = 3,
    parameter int TABLE_BITS = 6,
    parameter int LONG = 1,
    parameter int PUBLISHED = 1
) (
    input  logic clk,
    input  logic rst,
    input  logic [1:0] c3,
    input  logic [2:0] c5,
    input  logic [PORT_BITS-1:0] c1,
    input  logic [PORT_BITS-1:0] c2,
    input  logic [DELAY_BITS-1:0] c4,
    input  logic [PORTS*BITS-1:0] row_in,
    input  logic [PORTS*BITS-1:0] col_in,
    input  logic [BITS-1:0] o_in,
    input  logic [BITS-1:0] score_in,
    input  logic signed [BITS-1:0] maximum,
    output logic [BITS-1:0] o_out,
    output logic [BITS-1:0] score_out,
    output logic [BITS-1:0] accumulator
);
  localparam logic [1:0] CLEAR = 2'd0, OWN = 2'd2, CHAINED = 2'd3;
  localparam logic [2:0] TAKE = 3'd1, MOVE = 3'd2, TAKE_BELOW = 3'd4;

  logic signed [BITS-1:0] a, b;
  logic signed [2*BITS-1:0] product;
  logic [BITS-1:0] floored, power;
  assign a = 32'(c1) < PORTS ? row_in[c1*BITS+:BITS] : 32'(c1) == PORTS ? score_out : '0;
  assign b = 32'(c2) < PORTS ? col_in[c2*BITS+:BITS] : '0;
  assign product = a * b;
  assign floored = BITS'(product >>> POINT);

  // The published unit takes numbers from 0 on, the other one what is left of the row's maximum.
  if (PUBLISHED != 0) begin : published
    exp_unit #(
        .BITS (BITS),
        .POINT(POINT)
    ) unit (
        .x(accumulator),
        .y(power)
    );
  end else begin : not_built
    assign power = '0;
  end
  logic signed [BITS:0] left_over;
  logic [POINT:0] part;
  assign left_over = (BITS + 1)'(signed'(accumulator)) - (BITS + 1)'(maximum);
  signed_exp_unit #(
      .IN_BITS(BITS + 1),
      .POINT(POINT),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG)
  ) below (
      .x(left_over),
      .y(part)
  );

  always_ff @(posedge clk) begin
    if (rst || c3 == CLEAR) accumulator <= '0;
    else if (c3 == OWN) accumulator <= accumulator + floored;
    else if (c3 == CHAINED) accumulator <= o_in + floored;
    if (rst) score_out <= '0;
    else if (c5 == TAKE) score_out <= power;
    else if (c5 == MOVE) score_out <= score_in;
    else if (c5 == TAKE_BELOW) score_out <= 32'(c1) <= PORTS ? BITS'(part) : '0;
  end

  // What c4 chooses from: the accumulator, and what it was 1 to CHAIN chained cycles ago.
  logic [(CHAIN+1)*BITS-1:0] ages;
  if (CHAIN > 0) begin : delayed
    logic [CHAIN*BITS-1:0] chain;
    always_ff @(posedge clk) begin
      if (rst || c3 == CLEAR) chain <= '0;
      else if (c3 == CHAINED) chain <= ages[CHAIN*BITS-1:0];
    end
    assign ages = {chain, accumulator};
  end else begin : direct
    assign ages = accumulator;
  end
  assign o_out = 32'(c4) <= CHAIN ? ages[c4*BITS+:BITS] : '0;
endmodule
