// The sparse array: rows of PEs that compute the kept scores, their exponentials and the values weighted by them.
//
// Interface: c1, c2, c4: a field for each PE, row after row from bit 0; c3, c5 (pe.sv) and `clear` for all. `left`: a query
//   number for each row; `top`: a key or value number for each port. Numbers have BITS bits, POINT behind the point.
// Timing: queries shift by a register a cycle, keys pass a row a cycle: element t of row r enters at cycle t + r, that of port
//   m at t + m. Scores take depth + PORTS + ROWS - 1 cycles (c3 = 2, c1 = c2 = port), exponentials 1 (c5 = 1; or 3, then 4), values
//   depth + PORTS + ROWS - 1 (c3 = 3, c1 = PORTS, element n of row r in `o` n + r + PORTS cycles on), sums PES (c5 = 2).
// Reset: `rst`, synchronous: all 0.
module sparse_array #(
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int ROWS = 8,
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
    input  logic [ROWS*PES*PORT_BITS-1:0] c1,
    input  logic [ROWS*PES*PORT_BITS-1:0] c2,
    input  logic [ROWS*PES*DELAY_BITS-1:0] c4,
    input  logic [ROWS*BITS-1:0] left,
    input  logic [PORTS*BITS-1:0] top,
    output logic [ROWS*BITS-1:0] o,
    output logic [ROWS*BITS-1:0] sums,
    output logic [ROWS*BITS-1:0] maxima,
    output logic [ROWS*PES*BITS-1:0] accumulators,
    output logic [ROWS*PES*BITS-1:0] exponentials
);
  // Key registers of row r; they take those of the row above.
  logic [ROWS*PORTS*BITS-1:0] keys;
  always_ff @(posedge clk) begin
    if (rst || clear) keys <= '0;
    else keys <= (ROWS * PORTS * BITS)'({keys, top});
  end

  for (genvar r = 0; r < ROWS; r++) begin : row
    pe_row #(
        .BITS(BITS),
        .POINT(POINT),
        .PES(PES),
        .PORTS(PORTS),
        .PORT_BITS(PORT_BITS),
        .DELAY_BITS(DELAY_BITS),
        .TABLE_BITS(TABLE_BITS),
        .LONG(LONG),
        .PUBLISHED(PUBLISHED)
    ) unit (
        .clk,
        .rst,
        .clear,
        .c3,
        .c5,
        .c1(c1[r*PES*PORT_BITS+:PES*PORT_BITS]),
        .c2(c2[r*PES*PORT_BITS+:PES*PORT_BITS]),
        .c4(c4[r*PES*DELAY_BITS+:PES*DELAY_BITS]),
        .left(left[r*BITS+:BITS]),
        .keys(keys[r*PORTS*BITS+:PORTS*BITS]),
        .o(o[r*BITS+:BITS]),
        .sum(sums[r*BITS+:BITS]),
        .maximum(maxima[r*BITS+:BITS]),
        .accumulators(accumulators[r*PES*BITS+:PES*BITS]),
        .exponentials(exponentials[r*PES*BITS+:PES*BITS])
    );
  end
endmodule
