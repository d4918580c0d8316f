// Pipeline of whole quotients, a bit a stage, by restoring: r <= 2 r + the next bit of the dividend, and the divisor is
// subtracted if it goes.
//
// Interface: `in_valid`: `dividend` and `divisor` enter. `out_valid`: `quotient` is that of the pair that entered BITS cycles ago;
//   it stays until the next one. The quotient must fit BITS bits; division by 0 gives all ones.
// Timing: a pair a cycle, BITS stages. Reset: `rst`, synchronous: no pair is inside; numbers are not cleared.
// Limits: DIVIDEND_BITS > BITS.
module divider #(
    parameter int BITS = 17,
    parameter int DIVIDEND_BITS = 39,
    parameter int DIVISOR_BITS = 23
) (
    input  logic clk,
    input  logic rst,
    input  logic in_valid,
    input  logic [DIVIDEND_BITS-1:0] dividend,
    input  logic [DIVISOR_BITS-1:0] divisor,
    output logic out_valid,
    output logic [BITS-1:0] quotient
);
  localparam int HIGH_BITS = DIVIDEND_BITS - BITS;
  localparam int REST_BITS = (HIGH_BITS > DIVISOR_BITS ? HIGH_BITS : DIVISOR_BITS) + 1;

  // What enters stage i: the rest, the dividend's bits that are to come before the quotient's that are there, the divisor.
  logic [(BITS+1)*REST_BITS-1:0] rests;
  logic [(BITS+1)*BITS-1:0] shifts;
  logic [(BITS+1)*DIVISOR_BITS-1:0] divisors;
  logic [BITS:0] valids;
  assign rests[REST_BITS-1:0] = REST_BITS'(dividend[DIVIDEND_BITS-1:BITS]);
  assign shifts[BITS-1:0] = dividend[BITS-1:0];
  assign divisors[DIVISOR_BITS-1:0] = divisor;
  assign valids[0] = in_valid;

  for (genvar i = 0; i < BITS; i++) begin : stage
    logic [REST_BITS-1:0] brought, rest;
    logic [DIVISOR_BITS-1:0] by;
    logic [BITS-1:0] shifted;
    logic goes, valid;
    assign brought = {rests[i*REST_BITS+:REST_BITS-1], shifts[i*BITS+BITS-1]};
    assign goes = brought >= REST_BITS'(divisors[i*DIVISOR_BITS+:DIVISOR_BITS]);
    always_ff @(posedge clk) begin
      valid <= !rst && valids[i];
      if (valids[i]) begin
        rest <= brought - (goes ? REST_BITS'(divisors[i*DIVISOR_BITS+:DIVISOR_BITS]) : '0);
        shifted <= {shifts[i*BITS+:BITS-1], goes};
        by <= divisors[i*DIVISOR_BITS+:DIVISOR_BITS];
      end
    end
    assign valids[i+1] = valid;
    assign rests[(i+1)*REST_BITS+:REST_BITS] = rest;
    assign shifts[(i+1)*BITS+:BITS] = shifted;
    assign divisors[(i+1)*DIVISOR_BITS+:DIVISOR_BITS] = by;
  end
  assign out_valid = valids[BITS];
  assign quotient  = shifts[BITS*BITS+:BITS];

  logic unused;
  assign unused = &{1'b0, rests, divisors};
endmodule
