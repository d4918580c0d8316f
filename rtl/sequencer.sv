// The accelerator's program: which operation follows which.
//
//   keys -> values -> codes of keys; for each tile: queries -> codes -> predict (or mask) -> pack -> while a block was closed
//   [prepare -> execute -> merge -> pack, if the tile is not at its end] -> normalise -> store
//
// Interface: `state`: the operation (operations.svh); `begun`: its first cycle is over; `ends`: this is its last one, and `next` follows.
//   `start` leaves idleness. `predicts`: masks are predicted; `has_keys`: the tile has any; `last_tile`. While it packs: `pack_end`: the
//   tile's end is reached, `block_closed`: a block was closed.
// Timing: an operation follows the other without a gap. Reset: `rst`, synchronous: idle.
module sequencer (
    input  logic clk,
    input  logic rst,
    input  logic start,
    input  logic predicts,
    input  logic has_keys,
    input  logic last_tile,
    input  logic pack_end,
    input  logic block_closed,
    input  logic ends,
    output logic [4:0] state,
    output logic [4:0] next,
    output logic begun
);
  `include "operations.svh"

  logic tile_packed;
  always_comb begin
    case (state)
      LOAD_KEYS: next = LOAD_VALUES;
      LOAD_VALUES: next = predicts ? CODE_KEYS : LOAD_QUERIES;
      CODE_KEYS: next = LOAD_QUERIES;
      LOAD_QUERIES: next = predicts ? CODE_QUERIES : has_keys ? LOAD_MASK : PACK;
      CODE_QUERIES: next = PREDICT;
      PREDICT, LOAD_MASK: next = PACK;
      PACK: next = block_closed ? PREPARE : NORMALISE;
      PREPARE: next = EXECUTE;
      EXECUTE: next = MERGE;
      MERGE: next = tile_packed ? NORMALISE : PACK;
      NORMALISE: next = STORE;
      STORE: next = last_tile ? IDLE : LOAD_QUERIES;
      default: next = IDLE;
    endcase
  end
  always_ff @(posedge clk) begin
    if (rst) begin
      state <= IDLE;
      begun <= 1'b0;
      tile_packed <= 1'b0;
    end else if (state == IDLE) begin
      state <= start ? LOAD_KEYS : IDLE;
      begun <= 1'b0;
    end else begin
      state <= ends ? next : state;
      begun <= !ends;
      if (state == LOAD_QUERIES) tile_packed <= 1'b0;
      else if (state == PACK && pack_end) tile_packed <= 1'b1;
    end
  end

`ifdef FORMAL
  // Blocks closed and not merged yet; whether the tile's end was seen; queries whose outputs were not stored.
  logic open, at_end, owed;
  logic [4:0] before;
  logic ended;
  always_ff @(posedge clk) begin
    before <= state;
    ended  <= ends && !rst;
    if (rst) begin
      open   <= 1'b0;
      at_end <= 1'b0;
      owed   <= 1'b0;
    end else if (ends) begin
      if (state == PACK && block_closed) open <= 1'b1;
      if (state == MERGE) open <= 1'b0;
      if (state == PACK) at_end <= pack_end;
      if (state == LOAD_QUERIES) at_end <= 1'b0;
      if (state == LOAD_QUERIES) owed <= 1'b1;
      if (state == STORE) owed <= 1'b0;
    end
  end
  initial assume (rst);
  // An operation of packing ends exactly when it has reached the tile's end or closed a block.
  always_comb if (state == PACK) assume (ends == (pack_end || block_closed));
  always_comb if (!rst) begin
    assert (state <= STORE);
    // Every block that was closed is prepared, executed and merged, once, before anything else.
    assert (open == (state == PREPARE || state == EXECUTE || state == MERGE));
    // Outputs leave when the tile's end was packed, and not before; nothing is packed twice.
    if (state == NORMALISE || state == STORE) assert (at_end && tile_packed);
    if (state == PACK || state == PREDICT || state == LOAD_MASK || state == CODE_QUERIES) assert (!at_end && !tile_packed);
    if (state == PREPARE || state == EXECUTE || state == MERGE) assert (at_end == tile_packed);
    // Every tile that was begun is stored before the next one, or the end.
    if (state == IDLE || state == LOAD_KEYS || state == LOAD_VALUES || state == CODE_KEYS || state == LOAD_QUERIES) assert (!owed);
    else assert (owed);
    // It moves when an operation ends, and always does: it is ready again as soon as the units are.
    if (ended && before != IDLE) assert (state != before && !begun);
    if (state == IDLE && start) assert (!begun);
  end
`endif
endmodule
