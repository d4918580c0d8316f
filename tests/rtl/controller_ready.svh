// Part of controller.sv where READY is defined (tests/rtl/formal.sh): that a run always goes on. Two cycles in a row in which no unit
// works, nothing is owed by the memory, the channel is free, and nothing begins or is asked for, do not happen before the last cycle.
//
// Every other cycle begins or ends something of a run's finite work, if units end what they began, the memory takes and answers
// requests, and the channel becomes free: so each run ends. What follows are the facts that make this inductive.
//
// The walkers: matrices 0 to `all_matrices` - 1 of one tile at least, walked as tile_walker.sv and matrix_walker.sv do.
logic [31:0] all_matrices, walked_tiles, walked_matrices;
logic [31:0] matrix_at[4];  // of the tile at each place
logic [3:0] begins_at, walked_into, ends_before, has_keys_before;
logic [31:0] owed;
assign owed = (keys_asked - keys_there) + (values_asked - values_there) + (queries_asked - queries_there) + (stores_asked - stored) + 32'(mask_owed);
logic begun, overlap_before, predicts_before, mask_asked, mask_owed;
logic [1:0] last_place, next_place;
logic more_tiles;
assign last_place = walked_tiles[1:0] - 2'd1;
assign next_place = walked_tiles[1:0];
assign more_tiles = !(ends[last_place] && matrix_at[last_place] == all_matrices - 1'b1);
always_ff @(posedge clk) begin
  begun <= start;
  {overlap_before, predicts_before, ends_before, has_keys_before} <= {overlap, predicts, ends, has_keys};
  walked_into <= '0;
  if (start) begin
    all_matrices <= matrices;  // any number: before a run nothing is said of it
    walked_tiles <= 32'(1);
    walked_matrices <= 32'(1);
    walked_into[0] <= 1'b1;
    matrix_at[0] <= '0;
    begins_at[0] <= 1'b1;
    mask_asked <= 1'b0;
    mask_owed <= 1'b0;
  end else begin
    if (taken && what == ASK_QUERIES && more_tiles) begin
      walked_tiles <= walked_tiles + 1'b1;
      walked_into[next_place] <= 1'b1;
      matrix_at[next_place] <= matrix_at[last_place] + 32'(ends[last_place]);
      begins_at[next_place] <= ends[last_place];
    end
    if (taken && what == ASK_KEYS && walked_matrices != all_matrices) walked_matrices <= walked_matrices + 1'b1;
    if (taken && what == ASK_MASK) mask_asked <= 1'b1;
    else if (packed_tile) mask_asked <= 1'b0;
    mask_owed <= (mask_owed || (taken && what == ASK_MASK)) && !arrived[ASK_MASK];
  end
end
// What the walkers, the driver, the channel and the units do.
localparam int MOST = 24;  // tiles, matrices, blocks of a run: counters of formal.sh's copy have 5 bits
always_comb begin
  // A tile's places change where it is walked into; a run's constants do not.
  if (running) begin
    assume (tiles == walked_tiles && matrices == walked_matrices && begins == begins_at);
    assume (matrix_of == {matrix_at[3][1:0], matrix_at[2][1:0], matrix_at[1][1:0], matrix_at[0][1:0]});
    assume (((ends ^ ends_before) & ~walked_into) == '0 && ((has_keys ^ has_keys_before) & ~walked_into) == '0);
    assume (begun || (overlap == overlap_before && predicts == predicts_before));
    assume (all_matrices != '0 && all_matrices < MOST && walked_tiles < MOST);
  end
  assume (packed_blocks < MOST && packed_tiles < MOST);
  assume (!(start && running));
  assume (!coded || coding);
  assume (!arrived[ASK_KEYS] || keys_there < keys_asked + 32'(taken && what == ASK_KEYS));
  assume (!arrived[ASK_VALUES] || values_there < values_asked + 32'(taken && what == ASK_VALUES));
  assume (!arrived[ASK_QUERIES] || queries_there < queries_asked + 32'(taken && what == ASK_QUERIES));
  // Answers come in order, so that of no more than three matrices and three tiles words are under way.
  if (running) assume (keys_asked - keys_there < 4 && keys_asked - values_there < 4 && queries_asked - queries_there < 4);
  assume (!arrived[ASK_MASK] || mask_owed || (taken && what == ASK_MASK));
  assume (!arrived[ASK_STORE] || stored < stores_asked + 32'(taken && what == ASK_STORE));
  assume (32'(arrived[0]) + 32'(arrived[1]) + 32'(arrived[2]) + 32'(arrived[3]) < 32'(2));
end
// Tiles of blocks, in the buffer and as operands, as numbers.
logic [31:0] slot_tile[SLOTS], operand_tile[2];
always_ff @(posedge clk) begin
  if (closed) slot_tile[packed_slot] <= packed_tiles;
  if (start_preparing) operand_tile[prepared_blocks_n[0]] <= closed && packed_blocks == prepared_blocks_n ? packed_tiles : slot_tile[prepared_slot_n];
end

// ---- The claim ----
logic quiet, quiet_before;
assign quiet = running && !done && units == '0 && owed == '0 && channel_free && arrived == '0 && !ask && !start_coding && !start_predictor &&
    !start_packing && !start_preparing && !start_array && !start_merge && !start_normalise;
always_ff @(posedge clk) quiet_before <= quiet && !rst && !start;
always_comb if (!rst) assert (!(quiet && quiet_before));

// ---- What holds in every cycle of a run ----
logic [31:0] g, after_g;  // the program's tile, and the one after it
logic [1:0] gp;
logic [31:0] keys_past;  // asked for before and after the step KEYS of tile g
assign g = formal_tile;
assign after_g = g + 32'(1);
assign gp = g[1:0];
assign keys_past = matrix_at[gp] + 32'(2) < all_matrices ? matrix_at[gp] + 32'(2) : all_matrices;
localparam int FIRST_KEYS = 0, FIRST_QUERIES = 1, FIRST_VALUES = 2, FIRST_MASK = 3, QUERIES = 4, KEYS = 5, VALUES = 6, STORE = 7, MASK = 8, WAIT = 9,
    LAST_STORE = 10, THROUGH = 11;
logic first_steps, queries_past, keys_before;
assign first_steps = formal_step < 4'd4;
assign queries_past = queries_asked == g + 32'(2) || (queries_asked == after_g && walked_tiles == after_g);
assign keys_before = keys_asked == (begins_at[gp] ? matrix_at[gp] + 32'(1) : keys_past);
logic [31:0] stored_past;
assign stored_past = g == '0 ? '0 : g - 32'(1);
// The matrix of the tile before the last one whose queries are coded.
logic [31:0] coded_past;
assign coded_past = matrix_at[2'(coded_queries - 32'(1))] - 32'(begins_at[2'(coded_queries - 32'(1))]);
always_comb if (!rst && running) begin
  // Walkers.
  assert (walked_tiles != '0);
  assert (walked_tiles == queries_asked + 32'(1) || (walked_tiles == queries_asked && !more_tiles));
  assert (walked_matrices == keys_asked + 32'(keys_asked < all_matrices));
  assert (keys_asked <= all_matrices && matrix_at[last_place] < all_matrices);
  assert (queries_asked <= packed_tiles + 32'(2) && packed_tiles <= queries_asked);
  for (int back = 0; back < 4; back++)
    if (walked_tiles > 32'(back)) begin
      assert (matrix_at[2'(walked_tiles - 32'(1 + back))] < all_matrices && matrix_at[2'(walked_tiles - 32'(1 + back))] < walked_tiles - 32'(back));
      if (walked_tiles == 32'(back + 1)) assert (matrix_at[0] == '0 && begins_at[0]);
      else if (back < 3) begin
        assert (begins_at[2'(walked_tiles - 32'(1 + back))] == ends[2'(walked_tiles - 32'(2 + back))]);
        assert (matrix_at[2'(walked_tiles - 32'(1 + back))] ==
                matrix_at[2'(walked_tiles - 32'(2 + back))] + 32'(ends[2'(walked_tiles - 32'(2 + back))]));
      end
    end
  // The memory.
  assert (keys_there <= keys_asked && values_there <= values_asked && queries_there <= queries_asked && stored <= stores_asked);
  if (!overlap) assert (32'(outstanding) == owed && owed < 32'(2));
  for (int back = 1; back < 4; back++) begin
    if (keys_asked >= 32'(back)) assert (keys_at[2'(keys_asked - 32'(back))] == (keys_asked - 32'(back) < keys_there));
    if (keys_asked >= 32'(back)) assert (values_at[2'(keys_asked - 32'(back))] == (keys_asked - 32'(back) < values_there));
    if (queries_asked >= 32'(back)) assert (queries_at[2'(queries_asked - 32'(back))] == (queries_asked - 32'(back) < queries_there));
  end
  assert (!keys_at[keys_asked[1:0]] && !values_at[keys_asked[1:0]] && !queries_at[queries_asked[1:0]]);
  // The program.
  if (formal_step == 4'(FIRST_KEYS)) assert (g == '0 && keys_asked == '0 && values_asked == '0 && queries_asked == '0 && stores_asked == '0);
  if (formal_step == 4'(FIRST_QUERIES)) assert (g == '0 && keys_asked == 32'(1) && values_asked == '0 && queries_asked == '0 && stores_asked == '0);
  if (formal_step == 4'(FIRST_VALUES)) assert (g == '0 && keys_asked == 32'(1) && values_asked == '0 && queries_asked == 32'(1) && stores_asked == '0);
  if (formal_step == 4'(FIRST_MASK)) assert (g == '0 && keys_asked == 32'(1) && values_asked == 32'(1) && queries_asked == 32'(1) && stores_asked == '0);
  if (formal_step == 4'(QUERIES)) assert (queries_asked == after_g && keys_before && values_asked == keys_asked && stores_asked == stored_past);
  if (formal_step == 4'(KEYS)) assert (queries_past && keys_before && values_asked == keys_asked && stores_asked == stored_past);
  if (formal_step == 4'(VALUES)) assert (queries_past && keys_asked == keys_past && (values_asked == keys_asked || (begins_at[gp] && values_asked + 32'(1) == keys_asked)) &&
                    stores_asked == stored_past);
  if (formal_step == 4'(STORE)) assert (queries_past && keys_asked == keys_past && values_asked == keys_asked && stores_asked == stored_past);
  if (formal_step == 4'(MASK) || formal_step == 4'(WAIT)) assert (queries_past && keys_asked == keys_past && values_asked == keys_asked && stores_asked == g);
  if (formal_step == 4'(LAST_STORE)) assert (queries_asked == after_g && walked_tiles == after_g && stores_asked == g && packed_tiles == after_g && values_asked == keys_asked &&
                        keys_asked == all_matrices);
  assert (formal_step <= 4'(THROUGH));
  if (formal_step == 4'(THROUGH)) assert (queries_asked == after_g && walked_tiles == after_g && stores_asked == after_g && packed_tiles == after_g &&
                     values_asked == keys_asked && keys_asked == all_matrices);
  if (!first_steps) assert (packed_tiles >= g && g < walked_tiles);
  // Masks: of the tile that is packed next, when the program is past its step.
  assert (!mask_owed || mask_asked);
  assert (mask_there == (mask_asked && !mask_owed));
  if (predicts || packed_tiles == walked_tiles) assert (!mask_asked);
  else if (!has_keys[packed_tiles[1:0]]) assert (!mask_asked);
  else if (first_steps) assert (!mask_asked);
  else assert (mask_asked == (g == packed_tiles || (after_g == packed_tiles && formal_step == 4'(WAIT))));
  // No tile of which keys are seen is packed without its mask.
  if (!predicts && first_steps && packed_tiles != '0) assert (!has_keys[0]);
  if (!predicts && packed_tiles == g + 32'(2) && formal_step != 4'(WAIT)) assert (!has_keys[after_g[1:0]]);
  if (!predicts && formal_step == 4'(WAIT) && walked_tiles > after_g && has_keys[after_g[1:0]]) assert (packed_tiles > g);
  // Units before the packer.
  assert (coded_keys <= keys_there && coded_queries <= queries_there);
  if (predicts) begin
    assert (predicted_tiles <= coded_queries && predicted_matrices <= coded_keys);
    assert (packed_tiles <= predicted_tiles && predicted_tiles <= packed_tiles + 32'(1));
    assert (!(predicting && predicted_tiles != packed_tiles) && !(packing && predicted_tiles == packed_tiles));
    if (predicting) assert (coded_queries > predicted_tiles && coded_keys > predicted_matrices);
    if (coding) assert (codes_keys ? keys_there > coded_keys : queries_there > coded_queries);
    if (predicted_tiles < walked_tiles) assert (predicted_matrices == matrix_at[predicted_tiles[1:0]]);
    else assert (predicted_matrices == all_matrices);
    assert (coded_queries <= predicted_tiles + 32'(2) && coded_keys <= predicted_matrices + 32'(2));
    if (coded_queries == '0) assert (coded_keys == 32'(!codes_keys));
    else if (codes_keys) assert (coded_keys == coded_past + 32'(1) && coded_keys < all_matrices && coded_queries > 32'(1));
    else assert (coded_keys == (coded_past + 32'(2) < all_matrices ? coded_past + 32'(2) : all_matrices));
  end else begin
    assert (!coding && !predicting && coded_keys == '0 && coded_queries == '0 && predicted_tiles == '0 && predicted_matrices == '0);
  end
  if (packed_tiles < walked_tiles) assert (packed_matrices == matrix_at[packed_tiles[1:0]]);
  else assert (packed_matrices == all_matrices);
  if (packing) assert (packed_tiles < queries_asked);
  if (packing && !predicts && has_keys[packed_tiles[1:0]]) assert (mask_there);
  // Where tiles and matrices end.
  for (int i = 0; i < 4; i++) begin
    if (packed_tiles <= 32'(i)) assert (tile_ends[i] == '0);
    if (packed_matrices <= 32'(i)) assert (matrix_ends[i] == '0);
  end
  for (int back = 1; back < 5; back++)
    if (packed_tiles >= 32'(back)) begin
      assert (tile_ends[2'(packed_tiles - 32'(back))] <= packed_blocks);
      if (back < 4 && packed_tiles > 32'(back))
        assert (tile_ends[2'(packed_tiles - 32'(back + 1))] <= tile_ends[2'(packed_tiles - 32'(back))]);
      if (packed_tiles - 32'(back) + 32'(4) >= walked_tiles && ends[2'(packed_tiles - 32'(back))])
        assert (matrix_ends[2'(matrix_at[2'(packed_tiles - 32'(back))])] == tile_ends[2'(packed_tiles - 32'(back))]);
    end
  // The merger.
  assert (normalised_tiles <= packed_tiles && stores_asked <= normalised_tiles && normalised_tiles <= stored + 32'(2));
  if (normalising) assert (normalised_tiles < packed_tiles && normalised_tiles < stored + 32'(2));
  if (normalised_tiles != '0) assert (merged_blocks >= tile_ends[2'(normalised_tiles - 32'(1))]);
  if (normalised_tiles < packed_tiles) begin
    assert (merged_blocks <= tile_ends[normalised_tiles[1:0]]);
    if (merging && !normalising) assert (merged_blocks < tile_ends[normalised_tiles[1:0]]);
    if (normalising) assert (merged_blocks == tile_ends[normalised_tiles[1:0]]);
  end
  // Whose blocks those are that wait.
  assert (32'(packed_slot) < SLOTS && 32'(prepared_slot) < SLOTS);
  assert (32'(packed_slot) == 32'(prepared_slot) + (packed_blocks - prepared_blocks) ||
          32'(packed_slot) + SLOTS == 32'(prepared_slot) + (packed_blocks - prepared_blocks));
  for (int ahead = 0; ahead < SLOTS; ahead++)
    if (packed_blocks - prepared_blocks > 32'(ahead)) begin
      assert (slot_tiles[(32'(prepared_slot) + ahead) % SLOTS] == slot_tile[(32'(prepared_slot) + ahead) % SLOTS][1:0]);
      assert (block_stands(prepared_blocks + 32'(ahead), slot_tile[(32'(prepared_slot) + ahead) % SLOTS]));
    end
  for (int ahead = 0; ahead < 2; ahead++)
    if (prepared_blocks - executed_blocks + 32'(preparing) > 32'(ahead)) begin
      assert (operand_tiles[1'(executed_blocks + 32'(ahead))] == operand_tile[1'(executed_blocks + 32'(ahead))][1:0]);
      assert (block_stands(executed_blocks + 32'(ahead), operand_tile[1'(executed_blocks + 32'(ahead))]));
    end
end

// Block b is one of tile t's.
function automatic logic block_stands(input logic [31:0] b, input logic [31:0] t);
  block_stands = t <= packed_tiles && t + 32'(4) > packed_tiles && (t == packed_tiles || b < tile_ends[t[1:0]]) && (t == '0 || t + 32'(4) == packed_tiles || b >= tile_ends[2'(t - 32'(1))]);
endfunction
