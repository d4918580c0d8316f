// What may begin, by what has ended: the controller's table of docs/model/sparse_array.md.
//
// Every unit takes matrices, tiles or blocks in their order, so that counters are all that is remembered, and for four tiles and
// matrices where their blocks end and what has been brought. A unit begins in the cycle after the last thing it needs has ended, so
// starts are found from what is true after this cycle.
//
// Interface: `start` begins a run, whose `overlap` and `predicts` hold. Of a tile, a matrix: tile_walker, matrix_walker. What
//   ends in this cycle: `arrived` (bit of requests.svh), `coded`, `predicted`, `closed` (a block), `packed_tile`, `prepared`, `executed`,
//   `merged` (a block, or a tile's outputs). `start_*`: the unit's first cycle is the next one. A request: `ask` for `what`, while
//   `channel_free`; `taken`. Counters: of what each unit works on, or will; blocks' places in the buffer and tiles' places (mod 4) beside.
//   `done`: the last cycle of the run.
// Timing: as said. Without overlap one thing at a time: merger first, then array, preparer, packer, predictor, quantiser, channel.
// Reset: `rst`, or `start`, synchronous: nothing done.
module controller #(
    parameter int SLOTS = 16
) (
    input  logic clk,
    input  logic rst,
    input  logic start,
    input  logic overlap,
    input  logic predicts,
    input  logic [31:0] tiles,
    input  logic [31:0] matrices,
    input  logic [3:0] has_keys,
    input  logic [3:0] begins,
    input  logic [3:0] ends,
    input  logic [7:0] matrix_of,
    // What ends in this cycle.
    input  logic [4:0] arrived,
    input  logic coded,
    input  logic predicted,
    input  logic closed,
    input  logic packed_tile,
    input  logic prepared,
    input  logic executed,
    input  logic merged,
    // The channel.
    input  logic channel_free,
    input  logic taken,
    output logic ask,
    output logic [2:0] what,
    output logic [1:0] asked_matrix,
    // What begins in the next cycle, and what works in this one.
    output logic start_coding,
    output logic start_predictor,
    output logic start_array,
    output logic start_merge,
    output logic start_normalise,
    output logic codes_keys,
    output logic codes_keys_next,
    output logic packing,
    output logic preparing,
    output logic executing,
    output logic [5:0] units,
    // What they work on.
    output logic [1:0] coded_matrix,
    output logic [1:0] coded_matrix_next,
    output logic [1:0] coded_tile,
    output logic [1:0] coded_tile_next,
    output logic [1:0] predicted_tile,
    output logic [1:0] packed_at,
    output logic [1:0] prepared_tile,
    output logic [1:0] executed_tile,
    output logic [1:0] merged_tile,
    output logic [1:0] normalised_tile,
    output logic [1:0] stored_tile,
    output logic [SLOTS < 2 ? 0 : $clog2(SLOTS)-1:0] packed_slot,
    output logic [SLOTS < 2 ? 0 : $clog2(SLOTS)-1:0] prepared_slot,
    output logic prepared_bank,
    output logic executed_bank,
    output logic merged_bank,
    output logic [31:0] blocks,
    output logic running,
    output logic done
);
  `include "requests.svh"
  localparam int SLOT_BITS = SLOTS < 2 ? 1 : $clog2(SLOTS);

  // Counters: matrices, tiles, blocks that are through; `_n`: after this cycle.
  logic [31:0] keys_asked, values_asked, queries_asked, stores_asked, keys_there, queries_there, stored;
  logic [31:0] coded_keys, coded_queries, predicted_tiles, predicted_matrices, packed_tiles, packed_matrices;
  logic [31:0] packed_blocks, prepared_blocks, executed_blocks, merged_blocks, normalised_tiles;
  logic [31:0] keys_there_n, queries_there_n, stored_n;
  logic [31:0] coded_keys_n, coded_queries_n, predicted_tiles_n, predicted_matrices_n, packed_tiles_n;
  logic [31:0] packed_blocks_n, prepared_blocks_n, executed_blocks_n, merged_blocks_n, normalised_tiles_n;
  logic coding, predicting, merging, normalising;
  assign keys_there_n = keys_there + 32'(arrived[ASK_KEYS]);
  assign queries_there_n = queries_there + 32'(arrived[ASK_QUERIES]);
  assign stored_n = stored + 32'(arrived[ASK_STORE]);
  assign coded_keys_n = coded_keys + 32'(coded && codes_keys);
  assign coded_queries_n = coded_queries + 32'(coded && !codes_keys);
  assign predicted_tiles_n = predicted_tiles + 32'(predicted);
  assign predicted_matrices_n = predicted_matrices + 32'(predicted && ends[predicted_tiles[1:0]]);
  assign packed_tiles_n = packed_tiles + 32'(packed_tile);
  assign packed_blocks_n = packed_blocks + 32'(closed);
  assign prepared_blocks_n = prepared_blocks + 32'(prepared);
  assign executed_blocks_n = executed_blocks + 32'(executed);
  assign merged_blocks_n = merged_blocks + 32'(merged && !normalising);
  assign normalised_tiles_n = normalised_tiles + 32'(merged && normalising);
  assign blocks = packed_blocks;

  // One more than the last block of a tile that is packed, of a matrix all of whose tiles are.
  logic [31:0] tile_ends[4], matrix_ends[4];
  logic [31:0] normalised_end;
  assign normalised_end = packed_tile && packed_tiles == normalised_tiles_n ? packed_blocks_n : tile_ends[normalised_tiles_n[1:0]];

  // Which tile blocks are of: in the buffer, as operands, as outputs.
  logic [1:0] slot_tiles[SLOTS], operand_tiles[2], output_tiles[2];
  logic [SLOT_BITS-1:0] prepared_slot_n;
  logic [1:0] tile_to_prepare, tile_to_execute;
  assign prepared_slot_n = !prepared ? prepared_slot : 32'(prepared_slot) == SLOTS - 1 ? '0 : prepared_slot + 1'b1;
  assign tile_to_prepare = closed && packed_blocks == prepared_blocks_n ? packed_tiles[1:0] : slot_tiles[prepared_slot_n];
  assign tile_to_execute = operand_tiles[executed_blocks_n[0]];
  // What has been brought, by place.
  logic [3:0] keys_at, values_at, queries_at, keys_at_n, values_at_n, queries_at_n;
  logic [31:0] values_there;
  logic mask_there, mask_there_n;
  always_comb begin
    keys_at_n = keys_at;
    values_at_n = values_at;
    queries_at_n = queries_at;
    if (arrived[ASK_KEYS]) keys_at_n[keys_there[1:0]] = 1'b1;
    if (arrived[ASK_VALUES]) values_at_n[values_there[1:0]] = 1'b1;
    if (arrived[ASK_QUERIES]) queries_at_n[queries_there[1:0]] = 1'b1;
  end
  assign mask_there_n = (mask_there || arrived[ASK_MASK]) && !packed_tile;

  // ---- Units ----
  logic codes_next, may_execute, may_prepare, may_pack, may_predict, may_code, tile_merged;
  logic start_packing, start_preparing;
  // Keys 0, queries 0; then for each tile g queries g + 1 and, where g begins a matrix, the next one's keys.
  always_comb begin
    codes_keys_next = codes_keys;
    if (coded && codes_keys) codes_keys_next = 1'b0;
    else if (coded) codes_keys_next = coded_queries != '0 && begins[coded_queries[1:0]-1'b1] && matrices != coded_keys;
  end
  assign codes_next = codes_keys_next ? keys_there_n > coded_keys_n && predicted_matrices_n + 2 > coded_keys_n :
      queries_there_n > coded_queries_n && predicted_tiles_n + 2 > coded_queries_n;
  assign may_code = predicts && codes_next && (!coding || coded);
  assign may_predict = coded_queries_n > predicted_tiles_n && coded_keys_n > predicted_matrices_n && packed_tiles_n >= predicted_tiles_n &&
      !predicting;
  assign may_pack = prepared_blocks_n + 32'(SLOTS) > packed_blocks_n && (!packing || closed || packed_tile) &&
      (predicts ? predicted_tiles_n > packed_tiles_n : has_keys[packed_tiles_n[1:0]] ? mask_there_n : queries_there_n > packed_tiles_n);
  assign may_prepare = packed_blocks_n > prepared_blocks_n && executed_blocks_n + 2 > prepared_blocks_n &&
      keys_at_n[matrix_of[tile_to_prepare*2+:2]] && values_at_n[matrix_of[tile_to_prepare*2+:2]] && (!preparing || prepared);
  assign may_execute = prepared_blocks_n > executed_blocks_n && merged_blocks_n + 2 > executed_blocks_n && queries_at_n[tile_to_execute] &&
      (!executing || executed);
  // Blocks of a tile, then its outputs.
  assign tile_merged = packed_tiles_n > normalised_tiles_n && merged_blocks_n == normalised_end;

  logic alone, merger_free;
  logic [3:0] outstanding, outstanding_n;
  assign outstanding_n = outstanding + 4'(taken) - 4'(|arrived[3:0]) - 4'(arrived[ASK_STORE]);
  assign merger_free = !merging || merged;
  // Nothing goes on into the next cycle.
  assign alone = !(coding && !coded) && !(predicting && !predicted) && !(packing && !closed && !packed_tile) && !(preparing && !prepared) &&
      !(executing && !executed) && merger_free && outstanding_n == '0;
  always_comb begin : starts
    logic may;
    may = running && (overlap || alone);
    start_normalise = may && merger_free && tile_merged && stored_n + 2 > normalised_tiles_n;
    start_merge = may && merger_free && !tile_merged && executed_blocks_n > merged_blocks_n;
    may = may && (overlap || !(start_normalise || start_merge));
    start_array = may && may_execute;
    may = may && (overlap || !start_array);
    start_preparing = may && may_prepare;
    may = may && (overlap || !start_preparing);
    start_packing = may && may_pack;
    may = may && (overlap || !start_packing);
    start_predictor = may && may_predict;
    may = may && (overlap || !start_predictor);
    start_coding = may && may_code;
  end
  assign units = {merging, executing, preparing, packing, predicting, coding};

  // ---- The channel ----
  logic wanted, allowed, through, through_next;
  request_program program_unit (
      .clk,
      .rst,
      .start,
      .predicts,
      .tiles,
      .matrices,
      .has_keys,
      .begins,
      .packed_tiles,
      .keys_requested(keys_asked),
      .values_requested(values_asked),
      .take(taken),
      .wanted,
      .what,
      .through,
      .through_next
  );
  logic [31:0] released_end;
  assign released_end = matrix_ends[keys_asked[1:0]-2'd2];
  assign asked_matrix = what == ASK_KEYS ? keys_asked[1:0] : values_asked[1:0];
  always_comb begin
    case (what)
      ASK_KEYS: allowed = packed_matrices + 2 > keys_asked && prepared_blocks >= released_end && (!predicts || predicted_matrices + 2 > keys_asked);
      ASK_VALUES: allowed = 1'b1;  // their keys, asked for before, needed all that they need
      ASK_QUERIES: allowed = packed_tiles + 2 > queries_asked && executed_blocks >= tile_ends[queries_asked[1:0]-2'd2];
      ASK_MASK: allowed = packed_tiles + 1 >= queries_asked;
      default: allowed = normalised_tiles > stores_asked;
    endcase
  end
  assign ask = running && !through && wanted && allowed && channel_free && (overlap || (units == '0 && outstanding == '0));
  logic [31:0] stores_asked_n;
  assign stores_asked_n = stores_asked + 32'(taken && what == ASK_STORE);
  assign done = running && through_next && stored_n == stores_asked_n;

  always_ff @(posedge clk) begin
    if (rst || start) begin
      running <= start && !rst;
      {coding, predicting, packing, preparing, executing, merging, normalising} <= '0;
      codes_keys <= 1'b1;
      keys_asked <= '0;
      values_asked <= '0;
      queries_asked <= '0;
      stores_asked <= '0;
      keys_there <= '0;
      values_there <= '0;
      queries_there <= '0;
      stored <= '0;
      coded_keys <= '0;
      coded_queries <= '0;
      predicted_tiles <= '0;
      predicted_matrices <= '0;
      packed_tiles <= '0;
      packed_matrices <= '0;
      packed_blocks <= '0;
      prepared_blocks <= '0;
      executed_blocks <= '0;
      merged_blocks <= '0;
      normalised_tiles <= '0;
      packed_slot <= '0;
      prepared_slot <= '0;
      keys_at <= '0;
      values_at <= '0;
      queries_at <= '0;
      mask_there <= 1'b0;
      outstanding <= '0;
      for (int i = 0; i < 4; i++) begin
        tile_ends[i] <= '0;
        matrix_ends[i] <= '0;
      end
    end else begin
      if (done) running <= 1'b0;
      coding <= start_coding || (coding && !coded);
      predicting <= start_predictor || (predicting && !predicted);
      packing <= start_packing || (packing && !closed && !packed_tile);
      preparing <= start_preparing || (preparing && !prepared);
      executing <= start_array || (executing && !executed);
      merging <= start_merge || start_normalise || (merging && !merged);
      normalising <= start_normalise || (normalising && !merged);
      codes_keys <= codes_keys_next;
      outstanding <= outstanding_n;
      keys_there <= keys_there_n;
      values_there <= values_there + 32'(arrived[ASK_VALUES]);
      queries_there <= queries_there_n;
      stored <= stored_n;
      coded_keys <= coded_keys_n;
      coded_queries <= coded_queries_n;
      predicted_tiles <= predicted_tiles_n;
      predicted_matrices <= predicted_matrices_n;
      packed_tiles <= packed_tiles_n;
      packed_blocks <= packed_blocks_n;
      prepared_blocks <= prepared_blocks_n;
      executed_blocks <= executed_blocks_n;
      merged_blocks <= merged_blocks_n;
      normalised_tiles <= normalised_tiles_n;
      stores_asked <= stores_asked_n;
      keys_at <= keys_at_n;
      values_at <= values_at_n;
      queries_at <= queries_at_n;
      mask_there <= mask_there_n;
      prepared_slot <= prepared_slot_n;
      if (closed) packed_slot <= 32'(packed_slot) == SLOTS - 1 ? '0 : packed_slot + 1'b1;
      if (packed_tile) begin
        tile_ends[packed_tiles[1:0]] <= packed_blocks_n;
        if (ends[packed_tiles[1:0]]) begin
          packed_matrices <= packed_matrices + 1'b1;
          matrix_ends[packed_matrices[1:0]] <= packed_blocks_n;
        end
      end
      // The walker's next tile or matrix takes the place of one that is through.
      if (taken && what == ASK_KEYS) begin
        keys_asked <= keys_asked + 1'b1;
        keys_at[keys_asked[1:0]+1'b1] <= 1'b0;
        values_at[keys_asked[1:0]+1'b1] <= 1'b0;
      end
      if (taken && what == ASK_VALUES) values_asked <= values_asked + 1'b1;
      if (taken && what == ASK_QUERIES) begin
        queries_asked <= queries_asked + 1'b1;
        queries_at[queries_asked[1:0]+1'b1] <= 1'b0;
      end
    end
    if (closed) slot_tiles[packed_slot] <= packed_tiles[1:0];
    if (start_preparing) operand_tiles[prepared_blocks_n[0]] <= tile_to_prepare;
    if (start_array) output_tiles[executed_blocks_n[0]] <= tile_to_execute;
  end

  assign coded_matrix = coded_keys[1:0];
  assign coded_matrix_next = coded_keys_n[1:0];
  assign coded_tile = coded_queries[1:0];
  assign coded_tile_next = coded_queries_n[1:0];
  assign predicted_tile = predicted_tiles[1:0];
  assign packed_at = packed_tiles[1:0];
  assign prepared_tile = operand_tiles[prepared_blocks[0]];
  assign executed_tile = operand_tiles[executed_blocks[0]];
  assign merged_tile = output_tiles[merged_blocks[0]];
  assign normalised_tile = normalised_tiles[1:0];
  assign stored_tile = stores_asked[1:0];
  assign prepared_bank = prepared_blocks[0];
  assign executed_bank = executed_blocks[0];
  assign merged_bank = merged_blocks[0];

`ifdef FORMAL
  initial assume (rst);
  // Units end what they have begun, a packed tile closes at most its last block; fewer than 2^30 blocks.
  always_comb begin
    assume (!predicted || predicting);
    assume (!(closed || packed_tile) || packing);
    assume (!prepared || preparing);
    assume (!executed || executing);
    assume (!merged || merging);
    assume (!taken || ask);
    assume (packed_blocks < 32'd1 << 30 && packed_tiles < 32'd1 << 30);
  end
  always_comb if (!rst) begin
    // Blocks go through the units one after the other, none twice and none left out.
    assert (merged_blocks <= executed_blocks && executed_blocks <= prepared_blocks && prepared_blocks <= packed_blocks);
    // No buffer holds more than it has room for: slots, banks of operands, banks of outputs.
    assert (packed_blocks - prepared_blocks <= SLOTS && prepared_blocks - executed_blocks <= 2 && executed_blocks - merged_blocks <= 2);
    // A unit works on what is there, and where there is room for what it makes.
    if (packing) assert (packed_blocks - prepared_blocks < SLOTS);
    if (preparing) assert (packed_blocks > prepared_blocks && prepared_blocks - executed_blocks < 2);
    if (executing) assert (prepared_blocks > executed_blocks && executed_blocks - merged_blocks < 2);
    if (merging && !normalising) assert (executed_blocks > merged_blocks);
    // A tile's outputs are made once, when it is packed, and stored once, when they are made.
    assert (stores_asked <= normalised_tiles && normalised_tiles <= packed_tiles);
    if (normalising) assert (merging && packed_tiles > normalised_tiles);
    // Without a run nothing begins.
    if (!running) assert (!start_coding && !start_predictor && !start_array && !start_merge && !start_normalise && !ask);
  end
`endif
endmodule
