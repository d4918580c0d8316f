// The order in which the channel serves requests: docs/model/sparse_array.md, for keys that stay.
//
//   keys 0, queries 0, values 0, mask 0; then for each tile g
//     queries g + 1 | keys, values m + 1, where g begins matrix m | outputs of g - 1 | mask g + 1 | wait until g is packed
//   and at the end the last outputs
//
// Steps that ask for nothing take no time. Interface: `wanted`: the next request is `what`; `take` goes on. `through`: all were taken,
//   `through_next`: they are from the next cycle on. Of tile t, at place t mod 4: `has_keys`, `begins` (tile_walker). `tiles`,
//   `matrices`: walked into so far; `keys_requested`, `values_requested`: matrices; `packed_tiles`.
// Timing: `what` without a clock. Reset: `rst`, or `start`, synchronous: at the first request.
module request_program (
    input  logic clk,
    input  logic rst,
    input  logic start,
    input  logic predicts,
    input  logic [31:0] tiles,
    input  logic [31:0] matrices,
    input  logic [3:0] has_keys,
    input  logic [3:0] begins,
    input  logic [31:0] packed_tiles,
    input  logic [31:0] keys_requested,
    input  logic [31:0] values_requested,
    input  logic take,
    output logic wanted,
    output logic [2:0] what,
    output logic through,
    output logic through_next
);
  `include "requests.svh"

  typedef enum logic [3:0] {
    FIRST_KEYS, FIRST_QUERIES, FIRST_VALUES, FIRST_MASK, QUERIES, KEYS, VALUES, STORE, MASK, WAIT, LAST_STORE, THROUGH
  } step_t;
  step_t step, at, after;
  logic [31:0] tile, at_tile;
  assign through = step == THROUGH;

  // Goes over what is not wanted: at most from a tile's first step to the next one's outputs.
  logic asks;
  always_comb begin
    at = step;
    at_tile = tile;
    for (int i = 0; i < 10; i++) begin
      case (at)
        FIRST_MASK: if (predicts || !has_keys[0]) at = QUERIES;
        QUERIES: if (tiles == at_tile + 1'b1) at = KEYS;
        KEYS: if (!begins[at_tile[1:0]] || matrices == keys_requested) at = VALUES;
        VALUES: if (!begins[at_tile[1:0]] || keys_requested == values_requested) at = STORE;
        STORE: if (at_tile == '0) at = MASK;
        MASK: if (predicts || tiles == at_tile + 1'b1 || !has_keys[at_tile[1:0]+1'b1]) at = WAIT;
        WAIT:
        if (packed_tiles > at_tile) begin
          if (tiles == at_tile + 1'b1) at = LAST_STORE;
          else begin
            at = QUERIES;
            at_tile = at_tile + 1'b1;
          end
        end
        default: ;
      endcase
    end
    asks = 1'b1;
    after = at;
    what = ASK_KEYS;
    case (at)
      FIRST_KEYS: after = FIRST_QUERIES;
      FIRST_QUERIES: begin
        what  = ASK_QUERIES;
        after = FIRST_VALUES;
      end
      FIRST_VALUES: begin
        what  = ASK_VALUES;
        after = FIRST_MASK;
      end
      FIRST_MASK: begin
        what  = ASK_MASK;
        after = QUERIES;
      end
      QUERIES: begin
        what  = ASK_QUERIES;
        after = KEYS;
      end
      KEYS: after = VALUES;
      VALUES: begin
        what  = ASK_VALUES;
        after = STORE;
      end
      STORE: begin
        what  = ASK_STORE;
        after = MASK;
      end
      MASK: begin
        what  = ASK_MASK;
        after = WAIT;
      end
      LAST_STORE: begin
        what  = ASK_STORE;
        after = THROUGH;
      end
      default: asks = 1'b0;
    endcase
  end
  assign wanted = asks;
  assign through_next = through || (take && after == THROUGH);

  always_ff @(posedge clk) begin
    if (rst || start) begin
      step <= FIRST_KEYS;
      tile <= '0;
    end else begin
      step <= take ? after : at;
      tile <= at_tile;
    end
  end
endmodule
