// Logarithm to base 2 of a positive number: S = 2^p (1 + f), log2 S = p - POINT + f + c(f), c(f) = log2(1 + a) - a with a the
// middle of f's 64th of [0, 1).
//
// Interface: `x`: unsigned, POINT bits behind the point; 0 is taken as the least number. `y`: signed, 16 bits behind the point.
// Timing: combinational. Reset: none.
// Limits: BITS at most 64; |BITS| and POINT such that p - POINT fits 8 bits.
module log2_unit #(
    parameter int BITS  = 32,
    parameter int POINT = 16
) (
    input  logic [BITS-1:0] x,
    output logic signed [23:0] y
);
  // c with 16 bits behind the point, the last one first.
  localparam logic [64*16-1:0] CORRECTIONS = {
      16'd142, 16'd421, 16'd695, 16'd963, 16'd1224, 16'd1480, 16'd1729, 16'd1971,
      16'd2207, 16'd2437, 16'd2659, 16'd2875, 16'd3084, 16'd3286, 16'd3481, 16'd3668,
      16'd3848, 16'd4020, 16'd4184, 16'd4341, 16'd4490, 16'd4630, 16'd4762, 16'd4885,
      16'd5000, 16'd5106, 16'd5203, 16'd5291, 16'd5370, 16'd5439, 16'd5498, 16'd5547,
      16'd5586, 16'd5615, 16'd5633, 16'd5641, 16'd5637, 16'd5622, 16'd5595, 16'd5557,
      16'd5507, 16'd5444, 16'd5368, 16'd5280, 16'd5178, 16'd5063, 16'd4934, 16'd4791,
      16'd4633, 16'd4460, 16'd4272, 16'd4068, 16'd3848, 16'd3611, 16'd3358, 16'd3087,
      16'd2797, 16'd2490, 16'd2163, 16'd1817, 16'd1450, 16'd1063, 16'd654, 16'd224
  };
  localparam int PLACE_BITS = $clog2(BITS) + 1;

  // The leading one's place, and what follows it, moved to the top.
  logic [PLACE_BITS-1:0] place;
  logic [BITS+15:0] moved;
  always_comb begin
    place = '0;
    for (int i = 0; i < BITS; i++) if (x[i]) place = PLACE_BITS'(i);
    moved = {x, 16'd0} << (PLACE_BITS'(BITS - 1) - place);
  end
  logic [15:0] part;
  assign part = x == '0 ? 16'd0 : moved[BITS+14-:16];
  assign y = (24'(signed'({1'b0, place})) - 24'(POINT)) * 24'sd65536 + signed'({8'd0, part}) + signed'({8'd0, CORRECTIONS[{part[15:10], 4'd0}+:16]});
  logic unused;
  assign unused = &{1'b0, moved};
endmodule
