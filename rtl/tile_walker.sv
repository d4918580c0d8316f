// Walks through the tiles of a run: sequence by sequence, head by head, ROWS queries at a time. Remembers the last four.
//
// Interface: `start` walks to the first tile, `advance` to the next, if there is one. `walked`: tiles so far. Of tile g, at place
//   g mod 4: `rows`, its queries; `keys`, up to the last that may be seen; `first`, its first query; `begins`, `ends`, whether it is
//   the first, the last of its matrix; `matrix`, the matrix's number mod 4. `from`: where the lengths' search begins that answers with `found`,
//   `sequence` and its lengths.
// Timing: what is walked into can be read from the next cycle on. Reset: `rst`, synchronous: nothing walked.
module tile_walker #(
    parameter int ROWS = 8,
    parameter int ROW_BITS = 4,
    parameter int KEY_BITS = 7
) (
    input  logic clk,
    input  logic rst,
    input  logic start,
    input  logic advance,
    input  logic causal,
    input  logic signed [16:0] causal_offset,
    input  logic [15:0] heads,
    output logic [8:0] from,
    input  logic found,
    input  logic [8:0] sequence_found,
    input  logic [15:0] queries_found,
    input  logic [15:0] keys_found,
    output logic [31:0] walked,
    output logic [4*ROW_BITS-1:0] rows,
    output logic [4*KEY_BITS-1:0] keys,
    output logic [4*16-1:0] first,
    output logic [3:0] begins,
    output logic [3:0] ends,
    output logic [4*2-1:0] matrix
);
  // Where it is, and the tile after that.
  logic [8:0] in_sequence;
  logic [15:0] head, all_queries, all_keys, at;
  logic [1:0] in_matrix;
  logic same_matrix, same_sequence, there;
  logic [15:0] next_queries, next_keys, next_at, left;
  logic [16:0] after;
  logic [1:0] next_matrix, place;
  logic signed [17:0] visible;
  logic [ROW_BITS-1:0] next_rows;
  logic [KEY_BITS-1:0] next_visible;
  assign from = start ? '0 : in_sequence + 1'b1;
  assign after = {1'b0, at} + 17'(ROWS);
  assign same_matrix = !start && after < {1'b0, all_queries};
  assign same_sequence = !start && head + 1'b1 != heads;
  assign there = same_matrix || same_sequence || found;
  assign next_queries = same_matrix || same_sequence ? all_queries : queries_found;
  assign next_keys = same_matrix || same_sequence ? all_keys : keys_found;
  assign next_at = same_matrix ? after[15:0] : '0;
  assign next_matrix = start ? '0 : same_matrix ? in_matrix : in_matrix + 1'b1;
  assign left = next_queries - next_at;
  assign next_rows = 32'(left) < ROWS ? ROW_BITS'(left) : ROW_BITS'(ROWS);
  assign visible = 18'(signed'({1'b0, next_at})) + 18'(signed'({1'b0, next_rows})) + 18'(causal_offset);
  assign next_visible = !causal || visible >= 18'(signed'({1'b0, next_keys})) ? KEY_BITS'(next_keys) :
      visible < 0 ? '0 : KEY_BITS'(unsigned'(visible));
  assign place = start ? '0 : walked[1:0];

  always_ff @(posedge clk) begin
    if (rst) walked <= '0;
    else if (start || (advance && there)) walked <= start ? 32'd1 : walked + 1'b1;
    if (start || (advance && there)) begin
      if (!same_matrix && !same_sequence) begin
        in_sequence <= sequence_found;
        all_queries <= queries_found;
        all_keys <= keys_found;
      end
      head <= same_matrix ? head : same_sequence ? head + 1'b1 : '0;
      at <= next_at;
      in_matrix <= next_matrix;
      rows[place*ROW_BITS+:ROW_BITS] <= next_rows;
      keys[place*KEY_BITS+:KEY_BITS] <= next_visible;
      first[place*16+:16] <= next_at;
      begins[place] <= !same_matrix;
      ends[place] <= 32'(left) <= ROWS;
      matrix[place*2+:2] <= next_matrix;
    end
  end
endmodule
