// A row of the sparse array: PEs in a chain from left to right, the row's query registers and its sum of exponentials.
//
// Interface: c1, c2, c4: a field for each PE from bit 0; c3, c5: of all (pe.sv). `left`: the next query number, which shifts
//   into the query registers each cycle. `keys`: the row's key registers. `clear` empties query registers and sum.
//   c5 = 3: `maximum` takes the largest accumulator of the PEs with c1 <= PORTS, the least number if there is none.
//   `o`: what the last PE sends; `sum` grows by the last PE's exponential while c5 moves them.
// Timing: `o` follows c4 without a clock; all else are registers. Reset: `rst`, synchronous: all 0.
module pe_row #(
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int PES = 4,
    parameter int PORTS = 8,
    parameter int PORT_BITS = 4,
    parameter int DELAY_BITS = 3,
    parameter int TABLE_BITS = 6,
    parameter int LONG = 1,
    parameter int PUBLISHED = 1
) (
    input  logic clk,
    input  logic rst,
    input  logic clear,
    input  logic [1:0] c3,
    input  logic [2:0] c5,
    input  logic [PES*PORT_BITS-1:0] c1,
    input  logic [PES*PORT_BITS-1:0] c2,
    input  logic [PES*DELAY_BITS-1:0] c4,
    input  logic [BITS-1:0] left,
    input  logic [PORTS*BITS-1:0] keys,
    output logic [BITS-1:0] o,
    output logic [BITS-1:0] sum,
    output logic signed [BITS-1:0] maximum,
    output logic [PES*BITS-1:0] accumulators,
    output logic [PES*BITS-1:0] exponentials
);
  localparam logic [2:0] MOVE = 3'd2, MOST = 3'd3;
  localparam logic signed [BITS-1:0] LEAST = {1'b1, {(BITS - 1) {1'b0}}};

  logic signed [BITS-1:0] most;
  always_comb begin
    most = LEAST;
    for (int j = 0; j < PES; j++)
      if (32'(c1[j*PORT_BITS+:PORT_BITS]) <= PORTS && signed'(accumulators[j*BITS+:BITS]) > most)
        most = accumulators[j*BITS+:BITS];
  end

  logic [PORTS*BITS-1:0] queries;
  always_ff @(posedge clk) begin
    if (rst || clear) queries <= '0;
    else queries <= (PORTS * BITS)'({queries, left});
    if (rst || clear) sum <= '0;
    else if (c5 == MOVE) sum <= sum + exponentials[(PES-1)*BITS+:BITS];
    if (rst) maximum <= '0;
    else if (c5 == MOST) maximum <= most;
  end

  logic [(PES+1)*BITS-1:0] passed, moved;
  assign passed[BITS-1:0] = '0;
  assign moved[BITS-1:0] = '0;
  for (genvar j = 0; j < PES; j++) begin : column
    pe #(
        .BITS(BITS),
        .POINT(POINT),
        .PORTS(PORTS),
        .CHAIN(PORTS - PES),
        .PORT_BITS(PORT_BITS),
        .DELAY_BITS(DELAY_BITS),
        .TABLE_BITS(TABLE_BITS),
        .LONG(LONG),
        .PUBLISHED(PUBLISHED)
    ) unit (
        .clk,
        .rst,
        .c3,
        .c5,
        .c1(c1[j*PORT_BITS+:PORT_BITS]),
        .c2(c2[j*PORT_BITS+:PORT_BITS]),
        .c4(c4[j*DELAY_BITS+:DELAY_BITS]),
        .row_in(queries),
        .col_in(keys),
        .o_in(passed[j*BITS+:BITS]),
        .score_in(moved[j*BITS+:BITS]),
        .maximum,
        .o_out(passed[(j+1)*BITS+:BITS]),
        .score_out(moved[(j+1)*BITS+:BITS]),
        .accumulator(accumulators[j*BITS+:BITS])
    );
  end
  assign exponentials = moved[(PES+1)*BITS-1:BITS];
  assign o = passed[PES*BITS+:BITS];
endmodule
