// Pipeline of whole square roots, a bit a stage: r <= 4 r + the next two bits, and 4 q + 1 is subtracted if it goes.
//
// Interface: `in_valid`: `x` enters, 2 BITS bits. `out_valid`: `root` is that of the number that entered BITS cycles ago; it stays
//   until the next one.
// Timing: a number a cycle, BITS stages. Reset: `rst`, synchronous: no number is inside; numbers are not cleared.
// Limits: BITS >= 2.
module square_root #(
    parameter int BITS = 23
) (
    input  logic clk,
    input  logic rst,
    input  logic in_valid,
    input  logic [2*BITS-1:0] x,
    output logic out_valid,
    output logic [BITS-1:0] root
);
  localparam int REST_BITS = BITS + 2;

  logic [(BITS+1)*REST_BITS-1:0] rests;
  logic [(BITS+1)*2*BITS-1:0] shifts;
  logic [(BITS+1)*BITS-1:0] roots;
  logic [BITS:0] valids;
  assign rests[REST_BITS-1:0] = '0;
  assign shifts[2*BITS-1:0] = x;
  assign roots[BITS-1:0] = '0;
  assign valids[0] = in_valid;

  for (genvar i = 0; i < BITS; i++) begin : stage
    logic [REST_BITS-1:0] brought, trial, rest;
    logic [2*BITS-1:0] shifted;
    logic [BITS-1:0] found;
    logic goes, valid;
    assign brought = {rests[i*REST_BITS+:REST_BITS-2], shifts[i*2*BITS+2*BITS-2+:2]};
    assign trial = {roots[i*BITS+:BITS], 2'b01};
    assign goes = brought >= trial;
    always_ff @(posedge clk) begin
      valid <= !rst && valids[i];
      if (valids[i]) begin
        rest <= brought - (goes ? trial : '0);
        shifted <= {shifts[i*2*BITS+:2*BITS-2], 2'b00};
        found <= {roots[i*BITS+:BITS-1], goes};
      end
    end
    assign valids[i+1] = valid;
    assign rests[(i+1)*REST_BITS+:REST_BITS] = rest;
    assign shifts[(i+1)*2*BITS+:2*BITS] = shifted;
    assign roots[(i+1)*BITS+:BITS] = found;
  end
  assign out_valid = valids[BITS];
  assign root = roots[BITS*BITS+:BITS];

  logic unused;
  assign unused = &{1'b0, rests, shifts, roots};
endmodule
