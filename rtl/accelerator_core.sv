// The accelerator for matrices of attention: queries, keys and values in from a memory, masks predicted, packed and computed, outputs
// back. Units work beside each other, or one at a time.
//
//   channel    keys, values of a matrix; queries, mask of a tile; outputs of a tile
//   quantiser  keys of a matrix, queries of a tile    predictor  a tile    packer  a block    preparer  a block
//   array      a block                                merger     a block, or a tile's outputs
//
// controller.sv says what begins when; what two units share has two banks, by the parity of its matrix, tile or block.
//
// Interface: `length_*` puts sequences' queries and keys (lengths.sv). `start` runs all heads of the first `sequences`, of which
//   `runnable` must hold; constants hold while `busy`; `done` is up in the last cycle. `overlap`: units beside each other. `predicts` = 0: masks are
//   read instead of being predicted, ceil(ROWS / 8) bytes a key of each tile; validity is none then.
//   Memory: `request` stays up until `request_ready`: a transfer of `request_beats` words of STREAM bytes from `request_address` on.
//   Words in come in the order of requests with `in_valid` (always taken), from the cycle of their request on; those out of a request
//   with `request_write` from its cycle on with `out_valid`, `out_ready`, and `out_done` tells that they have arrived.
//   Matrices lie one behind the other, each with what its lengths say and no more; so do tiles.
// Timing: that of docs/model/sparse_array.md. Reset: `rst`, synchronous: idle; memories are not cleared.
// Limits: 2 `depth` a multiple of STREAM, `depth` at most DEPTH, which is a multiple of QUANTISER_LANES and MERGE_LANES, KEYS of WIDTH; WIDTH
//   and STREAM powers of two; numbers of 16 bits in the memory.
module accelerator_core #(
    parameter int ROWS = 8,
    parameter int PES = 4,
    parameter int PORTS = 8,
    parameter int DEPTH = 16,
    parameter int KEYS = 64,
    parameter int SLOTS = 4,
    parameter int SEQUENCES = 8,
    parameter int WIDTH = 8,
    parameter int CODE_BITS = 4,
    parameter int QUANTISER_LANES = 4,
    parameter int MERGE_LANES = 4,
    parameter int NORM_BITS = 22,
    parameter int IN_POINT = 10,
    parameter int BITS = 32,
    parameter int POINT = 16,
    parameter int SCORE_BITS = 16,
    parameter int SCORE_POINT = 10,
    parameter int OUT_POINT = 10,
    parameter int SUM_BITS = 40,
    parameter int TABLE_BITS = 6,
    parameter int LONG = 1,
    parameter int STREAM = 16
) (
    input  logic clk,
    input  logic rst,
    input  logic length_write,
    input  logic [7:0] length_at,
    input  logic [31:0] length_data,
    output logic [31:0] length_read,
    output logic runnable,
    input  logic start,
    output logic busy,
    output logic done,
    // Constants of the run.
    input  logic overlap,
    input  logic predicts,
    input  logic normalise,
    input  logic causal,
    input  logic [8:0] sequences,
    input  logic [15:0] heads,
    input  logic [12:0] depth,
    input  logic signed [16:0] causal_offset,
    input  logic [15:0] query_multiplier,
    input  logic [4:0] query_align,
    input  logic [16:0] query_reciprocal,
    input  logic [5:0] query_shift,
    input  logic [16:0] query_factor,
    input  logic [5:0] query_factor_shift,
    input  logic [16:0] key_reciprocal,
    input  logic [5:0] key_shift,
    input  logic [16:0] key_factor,
    input  logic [5:0] key_factor_shift,
    input  logic [5:0] score_shift,
    input  logic signed [23:0] log2_threshold,
    input  logic [31:0] query_base,
    input  logic [31:0] key_base,
    input  logic [31:0] value_base,
    input  logic [31:0] mask_base,
    input  logic [31:0] output_base,
    // Memory.
    output logic request,
    output logic request_write,
    output logic [31:0] request_address,
    output logic [23:0] request_beats,
    input  logic request_ready,
    input  logic in_valid,
    input  logic [STREAM*8-1:0] in_data,
    output logic out_valid,
    input  logic out_ready,
    output logic [STREAM*8-1:0] out_data,
    input  logic out_done,
    // Units that work: merger, array, preparer, packer, predictor, quantiser; counters of the run.
    output logic [5:0] units,
    output logic [63:0] kept_entries,
    output logic [31:0] blocks,
    output logic [31:0] saturated
);
  localparam int BEATS = 2 * DEPTH / STREAM;  // of a token
  localparam int BEAT_BITS = $clog2(BEATS + 1);
  localparam int BEAT_AT = BEATS < 2 ? 1 : $clog2(BEATS);
  localparam int KEY_BITS = $clog2(KEYS + 1);
  localparam int KEY_AT = KEYS < 2 ? 1 : $clog2(KEYS);
  localparam int BANKED_AT = $clog2(2 * KEYS);
  localparam int ROW_BITS = $clog2(ROWS + 1);
  localparam int ROW_AT = ROWS < 2 ? 1 : $clog2(ROWS);
  localparam int PORT_BITS = $clog2(PORTS + 2);
  localparam int PORT_COUNT_BITS = $clog2(PORTS + 1);
  localparam int COUNT_BITS = $clog2(PES + 1);
  localparam int QUERY_AT = $clog2(2 * ROWS);
  localparam int OPERAND_AT = $clog2(2 * PORTS);
  localparam int BLOCK_AT = SLOTS * PORTS < 2 ? 1 : $clog2(SLOTS * PORTS);
  localparam int SLOT_BITS = SLOTS < 2 ? 1 : $clog2(SLOTS);
  localparam int DEPTH_BITS = $clog2(DEPTH + 1);
  localparam int CODE_SUM = 2 * CODE_BITS + $clog2(DEPTH);
  localparam int T_BITS = SCORE_BITS + 8;
  localparam int WORD = DEPTH * 16;
  localparam int M_CHUNKS = DEPTH / MERGE_LANES;
  localparam int MASK_BYTES = (ROWS + 7) / 8;
  localparam int MASK_KEYS = STREAM / MASK_BYTES;  // whose columns a word has
  localparam int MASK_WORDS = (KEYS + MASK_KEYS - 1) / MASK_KEYS;
  localparam int MASK_AT = MASK_WORDS < 2 ? 1 : $clog2(MASK_WORDS);
  `include "requests.svh"

  // What a token takes.
  logic [DEPTH_BITS-1:0] elements, merge_chunks;
  logic [BEAT_BITS-1:0] token_beats;
  assign elements = DEPTH_BITS'(depth);
  assign merge_chunks = DEPTH_BITS'((32'(depth) + MERGE_LANES - 1) / MERGE_LANES);
  assign token_beats = BEAT_BITS'(32'(depth) * 2 / STREAM);

  // ---- Sequences, tiles, matrices ----
  logic [8:0] tile_from, tile_sequence, matrix_from, matrix_sequence;
  logic tile_found, matrix_found;
  logic [15:0] found_queries, found_keys, found_matrix_keys;
  logic [31:0] tiles, matrices;
  logic [4*ROW_BITS-1:0] rows_of;
  logic [4*KEY_BITS-1:0] keys_of;
  logic [4*16-1:0] first_of, matrix_keys;
  logic [3:0] begins, ends, has_keys;
  logic [7:0] matrix_of;
  lengths #(
      .SEQUENCES(SEQUENCES),
      .KEYS(KEYS)
  ) length_words (
      .clk,
      .rst,
      .write(length_write),
      .at(length_at),
      .write_data(length_data),
      .data(length_read),
      .sequences,
      .runnable,
      .tile_from,
      .tile_found,
      .tile_sequence,
      .tile_queries(found_queries),
      .tile_keys(found_keys),
      .matrix_from,
      .matrix_found,
      .matrix_sequence,
      .matrix_keys(found_matrix_keys)
  );
  tile_walker #(
      .ROWS(ROWS),
      .ROW_BITS(ROW_BITS),
      .KEY_BITS(KEY_BITS)
  ) through_tiles (
      .clk,
      .rst,
      .start,
      .advance(taken && what == ASK_QUERIES),
      .causal,
      .causal_offset,
      .heads,
      .from(tile_from),
      .found(tile_found),
      .sequence_found(tile_sequence),
      .queries_found(found_queries),
      .keys_found(found_keys),
      .walked(tiles),
      .rows(rows_of),
      .keys(keys_of),
      .first(first_of),
      .begins,
      .ends,
      .matrix(matrix_of)
  );
  matrix_walker through_matrices (
      .clk,
      .rst,
      .start,
      .advance(taken && what == ASK_KEYS),
      .heads,
      .from(matrix_from),
      .found(matrix_found),
      .sequence_found(matrix_sequence),
      .keys_found(found_matrix_keys),
      .walked(matrices),
      .keys(matrix_keys)
  );
  for (genvar i = 0; i < 4; i++) begin : tile_place
    assign has_keys[i] = keys_of[i*KEY_BITS+:KEY_BITS] != '0;
  end

  // ---- The controller ----
  logic ask, taken, channel_free;
  logic [2:0] what;
  logic [4:0] arrived;
  logic coded, predicted, pack_close, pack_end, prepared, executed, merger_last;
  logic start_coding, start_predictor, start_array, start_merge, start_normalise;
  logic codes_keys, codes_keys_next, packing, preparing, executing;
  logic [1:0] asked_matrix, coded_matrix, coded_matrix_next, coded_tile, coded_tile_next, predicted_tile, packed_tile, prepared_tile;
  logic [1:0] executed_tile, merged_tile, normalised_tile, stored_tile;
  logic [SLOT_BITS-1:0] packed_slot, prepared_slot;
  logic prepared_bank, executed_bank, merged_bank;
  controller #(
      .SLOTS(SLOTS)
  ) control (
      .clk,
      .rst,
      .start,
      .overlap,
      .predicts,
      .tiles,
      .matrices,
      .has_keys,
      .begins,
      .ends,
      .matrix_of,
      .arrived,
      .coded,
      .predicted,
      .closed(pack_close),
      .packed_tile(pack_end),
      .prepared,
      .executed,
      .merged(merger_last),
      .channel_free,
      .taken,
      .ask,
      .what,
      .asked_matrix,
      .start_coding,
      .start_predictor,
      .start_array,
      .start_merge,
      .start_normalise,
      .codes_keys,
      .codes_keys_next,
      .packing,
      .preparing,
      .executing,
      .units,
      .coded_matrix,
      .coded_matrix_next,
      .coded_tile,
      .coded_tile_next,
      .predicted_tile,
      .packed_at(packed_tile),
      .prepared_tile,
      .executed_tile,
      .merged_tile,
      .normalised_tile,
      .stored_tile,
      .packed_slot,
      .prepared_slot,
      .prepared_bank,
      .executed_bank,
      .merged_bank,
      .blocks,
      .running(busy),
      .done
  );

  // ---- Transfers ----
  logic [1:0] asked_tile;  // whose queries or mask
  logic [15:0] tokens;
  logic [23:0] validity_beats, words, beats;
  logic bank, data_in, validity_in, mask_in, in_bank;
  logic [2:0] in_what;
  logic [15:0] token, beat, out_token;
  logic [BEAT_BITS-1:0] out_beat;
  assign asked_tile = what == ASK_STORE ? stored_tile : what == ASK_MASK ? packed_tile : next_tile;
  assign bank = what == ASK_KEYS || what == ASK_VALUES ? asked_matrix[0] : asked_tile[0];
  assign tokens = what == ASK_KEYS || what == ASK_VALUES ? matrix_keys[asked_matrix*16+:16] : 16'(rows_of[asked_tile*ROW_BITS+:ROW_BITS]);
  assign validity_beats = predicts && (what == ASK_KEYS || what == ASK_QUERIES) ? (24'(tokens) + 24'(8 * STREAM - 1)) / 24'(8 * STREAM) : '0;
  assign words = what == ASK_MASK ? (24'(keys_of[asked_tile*KEY_BITS+:KEY_BITS]) * 24'(MASK_BYTES) + 24'(STREAM - 1)) / 24'(STREAM) :
      24'(tokens) * 24'(token_beats) + validity_beats;
  assign beats = words == '0 ? 24'd1 : words;
  logic [1:0] next_tile;  // whose queries are asked for next
  always_ff @(posedge clk) begin
    if (start) next_tile <= '0;
    else if (taken && what == ASK_QUERIES) next_tile <= next_tile + 1'b1;
  end
  // Matrices and tiles follow each other.
  logic [31:0] addresses[5];
  assign request_address = addresses[what];
  always_ff @(posedge clk) begin
    if (start) begin
      addresses[ASK_KEYS] <= key_base;
      addresses[ASK_VALUES] <= value_base;
      addresses[ASK_QUERIES] <= query_base;
      addresses[ASK_MASK] <= mask_base;
      addresses[ASK_STORE] <= output_base;
    end else if (taken) begin
      addresses[what] <= request_address + 32'(words) * 32'(STREAM);
    end
  end
  channel #(
      .BEAT_BITS(BEAT_BITS)
  ) to_memory (
      .clk,
      .rst,
      .ask,
      .what,
      .bank,
      .tokens,
      .token_beats,
      .beats,
      .free(channel_free),
      .taken,
      .request,
      .request_write,
      .request_beats,
      .request_ready,
      .in_valid,
      .out_valid,
      .out_ready,
      .out_done,
      .data(data_in),
      .validity(validity_in),
      .mask(mask_in),
      .in_what,
      .in_bank,
      .token,
      .beat,
      .arrived,
      .out_token,
      .out_beat
  );

  // ---- Memories ----
  logic [WORD-1:0] key_words[2*KEYS];
  logic [WORD-1:0] value_words[2*KEYS];
  logic [WORD-1:0] query_words[2*ROWS];
  logic [2*KEYS-1:0] key_valid;
  logic [2*ROWS-1:0] query_valid;
  logic [STREAM*8-1:0] mask_words[MASK_WORDS];
  logic [STREAM*8-1:0] mask_word;
  logic [MASK_AT-1:0] mask_beat;
  logic [BANKED_AT-1:0] key_in;
  logic [QUERY_AT-1:0] query_in;
  // Bank b of a memory of n words begins at b n.
  assign key_in = BANKED_AT'(32'(in_bank) * KEYS + 32'(token));
  assign query_in = QUERY_AT'(32'(in_bank) * ROWS + 32'(token));
  always_ff @(posedge clk) begin
    if (data_in && in_what == ASK_KEYS) key_words[key_in][BEAT_AT'(beat)*STREAM*8+:STREAM*8] <= in_data;
    if (data_in && in_what == ASK_VALUES) value_words[key_in][BEAT_AT'(beat)*STREAM*8+:STREAM*8] <= in_data;
    if (data_in && in_what == ASK_QUERIES) query_words[query_in][BEAT_AT'(beat)*STREAM*8+:STREAM*8] <= in_data;
    if (validity_in)
      for (int b = 0; b < 2; b++)
        if (32'(in_bank) == b) begin
          for (int i = 0; i < KEYS; i++)
            if (in_what == ASK_KEYS && 32'(beat) == i / (STREAM * 8)) key_valid[b*KEYS+i] <= in_data[i%(STREAM*8)];
          for (int i = 0; i < ROWS; i++)
            if (in_what == ASK_QUERIES && 32'(beat) == i / (STREAM * 8)) query_valid[b*ROWS+i] <= in_data[i%(STREAM*8)];
        end
    if (mask_in) mask_words[mask_beat] <= in_data;
    if (start || arrived[ASK_MASK]) mask_beat <= '0;
    else if (mask_in) mask_beat <= mask_beat + 1'b1;
  end

  // ---- Quantiser: of keys, or of a tile's queries ----
  logic quantiser_busy, codes_valid;
  logic [15:0] squares_row, code_row, code_factor;
  logic [DEPTH_BITS-1:0] squares_chunk, code_chunk;
  logic [WORD-1:0] squares_word, code_word;
  logic [QUANTISER_LANES*CODE_BITS-1:0] codes;
  logic [$clog2(QUANTISER_LANES+1)-1:0] clipped;
  logic [BANKED_AT-1:0] squares_key, code_key;
  logic [QUERY_AT-1:0] squares_query, code_query;
  assign squares_key = BANKED_AT'(32'(coded_matrix[0]) * KEYS + 32'(squares_row));
  assign code_key = BANKED_AT'(32'(coded_matrix[0]) * KEYS + 32'(code_row));
  assign squares_query = QUERY_AT'(32'(coded_tile[0]) * ROWS + 32'(squares_row));
  assign code_query = QUERY_AT'(32'(coded_tile[0]) * ROWS + 32'(code_row));
  assign squares_word = codes_keys ? key_words[squares_key] : query_words[squares_query];
  assign code_word = codes_keys ? key_words[code_key] : query_words[code_query];
  quantiser #(
      .BITS(16),
      .POINT(IN_POINT),
      .CODE_BITS(CODE_BITS),
      .LANES(QUANTISER_LANES),
      .NORM_BITS(NORM_BITS),
      .DEPTH_BITS(DEPTH_BITS),
      .ROW_BITS(16)
  ) quantiser_unit (
      .clk,
      .rst,
      .start(start_coding),
      .count(codes_keys_next ? matrix_keys[coded_matrix_next*16+:16] : 16'(rows_of[coded_tile_next*ROW_BITS+:ROW_BITS])),
      .depth(elements),
      .normalise,
      .reciprocal(codes_keys ? key_reciprocal[15:0] : query_reciprocal[15:0]),
      .shift(codes_keys ? key_shift : query_shift),
      .factor_scale(codes_keys ? key_factor[15:0] : query_factor[15:0]),
      .factor_shift(codes_keys ? key_factor_shift : query_factor_shift),
      .busy(quantiser_busy),
      .last(coded),
      .squares_row,
      .squares_chunk,
      .squares_in(squares_word[squares_chunk*QUANTISER_LANES*16+:QUANTISER_LANES*16]),
      .code_row,
      .code_chunk,
      .code_in(code_word[code_chunk*QUANTISER_LANES*16+:QUANTISER_LANES*16]),
      .codes_valid,
      .codes,
      .factor(code_factor),
      .clipped
  );
  logic [DEPTH*CODE_BITS-1:0] query_codes[2*ROWS];
  logic [DEPTH*CODE_BITS-1:0] key_codes[2*KEYS];
  logic [15:0] query_factors[2*ROWS];
  logic [15:0] key_factors[2*KEYS];
  always_ff @(posedge clk) begin
    if (codes_valid && codes_keys) begin
      key_codes[code_key][code_chunk*QUANTISER_LANES*CODE_BITS+:QUANTISER_LANES*CODE_BITS] <= codes;
      if (code_chunk == '0) key_factors[code_key] <= code_factor;
    end
    if (codes_valid && !codes_keys) begin
      query_codes[code_query][code_chunk*QUANTISER_LANES*CODE_BITS+:QUANTISER_LANES*CODE_BITS] <= codes;
      if (code_chunk == '0) query_factors[code_query] <= code_factor;
    end
  end

  // ---- Predictor ----
  logic predictor_busy, score_valid;
  logic [DEPTH_BITS-1:0] code_element;
  logic [KEY_BITS-1:0] pass, factor_key, score_key;
  logic [ROWS*CODE_BITS-1:0] row_codes;
  logic [WIDTH*CODE_BITS-1:0] column_codes;
  logic [ROWS*16-1:0] row_factors;
  logic [ROWS*SCORE_BITS-1:0] scores;
  logic [ROW_BITS-1:0] saturated_scores;
  logic [ROWS*T_BITS-1:0] thresholds;
  logic [ROWS*SCORE_BITS-1:0] score_words[KEYS];
  logic [ROWS-1:0] score_there;
  logic predicted_matrix;
  assign predicted_matrix = matrix_of[predicted_tile*2];
  for (genvar r = 0; r < ROWS; r++) begin : row_code
    logic [QUERY_AT-1:0] place;
    assign place = QUERY_AT'(32'(predicted_tile[0]) * ROWS + r);
    assign row_codes[r*CODE_BITS+:CODE_BITS] = query_codes[place][code_element*CODE_BITS+:CODE_BITS];
    assign row_factors[r*16+:16] = query_factors[place];
  end
  for (genvar c = 0; c < WIDTH; c++) begin : column_code
    logic [BANKED_AT-1:0] place;
    assign place = BANKED_AT'(32'(predicted_matrix) * KEYS + 32'(pass) * WIDTH + c);
    assign column_codes[c*CODE_BITS+:CODE_BITS] = key_codes[place][code_element*CODE_BITS+:CODE_BITS];
  end
  logic [BANKED_AT-1:0] factor_place;
  assign factor_place = BANKED_AT'(32'(predicted_matrix) * KEYS + 32'(factor_key));
  predictor #(
      .ROWS(ROWS),
      .WIDTH(WIDTH),
      .CODE_BITS(CODE_BITS),
      .SUM_BITS(CODE_SUM),
      .DEPTH_BITS(DEPTH_BITS),
      .KEY_BITS(KEY_BITS),
      .BITS(BITS),
      .POINT(POINT),
      .SCORE_BITS(SCORE_BITS),
      .SCORE_POINT(SCORE_POINT),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG)
  ) predictor_unit (
      .clk,
      .rst,
      .start(start_predictor),
      .rows(rows_of[predicted_tile*ROW_BITS+:ROW_BITS]),
      .keys(keys_of[predicted_tile*KEY_BITS+:KEY_BITS]),
      .depth(elements),
      .shift(score_shift),
      .log2_threshold,
      .busy(predictor_busy),
      .last(predicted),
      .element(code_element),
      .pass,
      .query_codes(row_codes),
      .key_codes(column_codes),
      .query_factors(row_factors),
      .factor_key,
      .key_factor(key_factors[factor_place]),
      .score_valid,
      .score_key,
      .scores,
      .valid(score_there),
      .saturated(saturated_scores),
      .thresholds
  );
  always_ff @(posedge clk) if (score_valid) score_words[KEY_AT'(score_key)] <= scores;

  // ---- Packer ----
  // Which pairs there are: both valid, and no key after the query's own position.
  logic [KEY_BITS-1:0] pack_key;
  logic [ROWS-1:0] pack_there, kept, column;
  pairs #(
      .ROWS(ROWS),
      .KEYS(KEYS),
      .KEY_BITS(KEY_BITS),
      .ROW_BITS(ROW_BITS)
  ) predicted_pairs (
      .key(score_key),
      .rows(rows_of[predicted_tile*ROW_BITS+:ROW_BITS]),
      .first(first_of[predicted_tile*16+:16]),
      .predicts,
      .causal,
      .causal_offset,
      .query_valid(query_valid[32'(predicted_tile[0])*ROWS+:ROWS]),
      .key_valid(key_valid[32'(predicted_matrix)*KEYS+:KEYS]),
      .there(score_there)
  );
  pairs #(
      .ROWS(ROWS),
      .KEYS(KEYS),
      .KEY_BITS(KEY_BITS),
      .ROW_BITS(ROW_BITS)
  ) packed_pairs (
      .key(pack_key),
      .rows(rows_of[packed_tile*ROW_BITS+:ROW_BITS]),
      .first(first_of[packed_tile*16+:16]),
      .predicts,
      .causal,
      .causal_offset,
      .query_valid(query_valid[32'(packed_tile[0])*ROWS+:ROWS]),
      .key_valid(key_valid[32'(matrix_of[packed_tile*2])*KEYS+:KEYS]),
      .there(pack_there)
  );
  keep_column #(
      .ROWS(ROWS),
      .SCORE_BITS(SCORE_BITS)
  ) keeps (
      .scores(score_words[KEY_AT'(pack_key)]),
      .thresholds,
      .valid(pack_there),
      .column(kept)
  );
  assign mask_word = mask_words[MASK_AT'(32'(pack_key)/MASK_KEYS)];
  assign column = predicts ? kept : mask_word[32'(pack_key)%MASK_KEYS*MASK_BYTES*8+:ROWS] & pack_there;
  logic pack_ready, pack_write;
  logic [PORT_COUNT_BITS-1:0] write_port, columns;
  logic [KEY_BITS-1:0] write_key;
  logic [ROWS-1:0] write_bits;
  logic [ROWS*COUNT_BITS-1:0] counts;
  assign pack_end = packing && pack_key == keys_of[packed_tile*KEY_BITS+:KEY_BITS];
  packer #(
      .ROWS(ROWS),
      .PES(PES),
      .PORTS(PORTS),
      .KEY_BITS(KEY_BITS)
  ) packer_unit (
      .clk,
      .rst,
      .begin_tile(1'b0),
      .in_valid(packing && !pack_end),
      .in_end(pack_end),
      .in_key(pack_key),
      .in_column(column),
      .in_ready(pack_ready),
      .write(pack_write),
      .write_port,
      .write_key,
      .write_bits,
      .close(pack_close),
      .columns,
      .counts
  );
  logic [$clog2(ROWS*PES+1)-1:0] entries;
  always_comb begin
    entries = '0;
    for (int r = 0; r < ROWS; r++) entries = entries + $bits(entries)'(counts[r*COUNT_BITS+:COUNT_BITS]);
  end
  // Blocks that wait: bits and keys of their columns, entries of their rows.
  logic [ROWS-1:0] block_bits[SLOTS*PORTS];
  logic [KEY_BITS-1:0] block_keys[SLOTS*PORTS];
  logic [PORT_COUNT_BITS-1:0] block_columns[SLOTS];
  logic [ROWS*COUNT_BITS-1:0] block_counts[SLOTS];
  logic [BLOCK_AT-1:0] block_in, block_out;
  assign block_in = BLOCK_AT'(32'(packed_slot) * PORTS + 32'(write_port));
  assign block_out = BLOCK_AT'(32'(prepared_slot) * PORTS + 32'(port));
  always_ff @(posedge clk) begin
    if (pack_write) begin
      block_bits[block_in] <= write_bits;
      block_keys[block_in] <= write_key;
    end
    if (pack_close) begin
      block_columns[packed_slot] <= columns;
      block_counts[packed_slot] <= counts;
    end
    if (rst || start) kept_entries <= '0;
    else if (pack_close) kept_entries <= kept_entries + 64'(entries);
    if (start || pack_end) pack_key <= '0;
    else if (packing && pack_ready) pack_key <= pack_key + 1'b1;
  end

  // ---- Preparer: words, and keys and values on the ports, in two banks ----
  logic [PORT_COUNT_BITS-1:0] port;
  logic port_used;
  logic [WORD-1:0] port_keys[2*PORTS];
  logic [WORD-1:0] port_values[2*PORTS];
  logic [2*ROWS*PES*PORT_BITS-1:0] word_ports, word_delays;
  logic [2*ROWS*PES-1:0] word_busy;
  logic [BANKED_AT-1:0] port_key;
  logic [OPERAND_AT-1:0] port_to;
  assign port_used = port < block_columns[prepared_slot];
  assign port_key = BANKED_AT'(32'(matrix_of[prepared_tile*2]) * KEYS + 32'(block_keys[block_out]));
  assign port_to = OPERAND_AT'(32'(prepared_bank) * PORTS + 32'(port));
  assign prepared = preparing && 32'(port) == PORTS - 1;
  always_ff @(posedge clk) begin
    port <= preparing && !prepared && !rst ? port + 1'b1 : '0;
    if (preparing) begin
      port_keys[port_to] <= port_used ? key_words[port_key] : '0;
      port_values[port_to] <= port_used ? value_words[port_key] : '0;
    end
  end
  for (genvar b = 0; b < 2; b++) begin : word_bank
    mask_decoder #(
        .ROWS(ROWS),
        .PES(PES),
        .PORTS(PORTS),
        .PORT_BITS(PORT_BITS)
    ) decoder (
        .clk,
        .rst,
        .step(preparing && prepared_bank == b),
        .first(port == '0),
        .counts(block_counts[prepared_slot]),
        .bits(port_used ? block_bits[block_out] : '0),
        .ports(word_ports[b*ROWS*PES*PORT_BITS+:ROWS*PES*PORT_BITS]),
        .busy(word_busy[b*ROWS*PES+:ROWS*PES]),
        .delays(word_delays[b*ROWS*PES*PORT_BITS+:ROWS*PES*PORT_BITS])
    );
  end

  // ---- The array ----
  logic run_busy, by_values;
  logic [DEPTH_BITS-1:0] element;
  logic [ROWS*BITS-1:0] left, o, sums, maxima;
  logic [PORTS*BITS-1:0] top;
  logic [ROWS-1:0] o_valid;
  logic [ROWS*DEPTH_BITS-1:0] o_element;
  for (genvar r = 0; r < ROWS; r++) begin : scaling
    logic signed [15:0] x;
    logic signed [33:0] product;
    logic signed [18:0] scaled;
    logic [QUERY_AT-1:0] place;
    assign place = QUERY_AT'(32'(executed_tile[0]) * ROWS + r);
    assign x = query_words[place][element*16+:16];
    assign product = 34'(x) * 34'(signed'({1'b0, query_multiplier}));
    assign scaled = 19'((product + 34'sd16384) >>> 15);
    // A row beyond the tile's last has no entry.
    assign left[r*BITS+:BITS] = BITS'(scaled) << query_align;
  end
  for (genvar m = 0; m < PORTS; m++) begin : feeding
    logic signed [15:0] x;
    logic [OPERAND_AT-1:0] place;
    assign place = OPERAND_AT'(32'(executed_bank) * PORTS + m);
    assign x = by_values ? port_values[place][element*16+:16] : port_keys[place][element*16+:16];
    assign top[m*BITS+:BITS] = BITS'(x) << (POINT - IN_POINT);
  end
  block_run #(
      .BITS(BITS),
      .POINT(POINT),
      .ROWS(ROWS),
      .PES(PES),
      .PORTS(PORTS),
      .PORT_BITS(PORT_BITS),
      .DEPTH_BITS(DEPTH_BITS),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG)
  ) run_unit (
      .clk,
      .rst,
      .start(start_array),
      .depth(elements),
      .ports(word_ports[32'(executed_bank)*ROWS*PES*PORT_BITS+:ROWS*PES*PORT_BITS]),
      .busy_pes(word_busy[32'(executed_bank)*ROWS*PES+:ROWS*PES]),
      .delays(word_delays[32'(executed_bank)*ROWS*PES*PORT_BITS+:ROWS*PES*PORT_BITS]),
      .busy(run_busy),
      .last(executed),
      .element,
      .values(by_values),
      .left,
      .top,
      .out_valid(o_valid),
      .out_element(o_element),
      .o,
      .sums,
      .maxima
  );
  // Outputs in two banks. Sums and maxima are the array's for a cycle more, in which the merger may read them already.
  logic [DEPTH*BITS-1:0] block_outputs[2*ROWS];
  logic [ROWS*BITS-1:0] block_sums[2], block_maxima[2], merge_sums, merge_maxima;
  logic just_executed;
  for (genvar r = 0; r < ROWS; r++) begin : taking
    logic [QUERY_AT-1:0] place;
    assign place = QUERY_AT'(32'(executed_bank) * ROWS + r);
    always_ff @(posedge clk) if (o_valid[r]) block_outputs[place][o_element[r*DEPTH_BITS+:DEPTH_BITS]*BITS+:BITS] <= o[r*BITS+:BITS];
  end
  always_ff @(posedge clk) begin
    just_executed <= executed;
    if (just_executed) begin
      block_sums[!executed_bank] <= sums;
      block_maxima[!executed_bank] <= maxima;
    end
  end
  assign merge_sums = just_executed && merged_bank != executed_bank ? sums : block_sums[merged_bank];
  assign merge_maxima = just_executed && merged_bank != executed_bank ? maxima : block_maxima[merged_bank];

  // ---- Merger ----
  logic merger_busy, merged_valid;
  logic [ROW_BITS-1:0] weigh_row, merge_row, merged_query, merged_rows;
  logic [DEPTH_BITS-1:0] merge_chunk, merged_chunk;
  logic [MERGE_LANES*16-1:0] merged;
  logic [DEPTH*BITS-1:0] merge_word;
  logic [$clog2(MERGE_LANES+1)-1:0] saturated_now;
  logic [QUERY_AT-1:0] merge_place;
  assign merge_place = QUERY_AT'(32'(merged_bank) * ROWS + 32'(merge_row));
  assign merge_word = block_outputs[merge_place];
  assign merged_rows = rows_of[merged_tile*ROW_BITS+:ROW_BITS];
  merger #(
      .ROWS(ROWS),
      .QUERIES(ROWS),
      .LANES(MERGE_LANES),
      .CHUNKS(M_CHUNKS),
      .BITS(BITS),
      .POINT(POINT),
      .SUM_BITS(SUM_BITS),
      .OUT_BITS(16),
      .OUT_POINT(OUT_POINT),
      .TABLE_BITS(TABLE_BITS),
      .LONG(LONG),
      .ROW_BITS(ROW_BITS),
      .QUERY_BITS(ROW_BITS),
      .CHUNK_BITS(DEPTH_BITS),
      .DEPTH_BITS(DEPTH_BITS)
  ) merger_unit (
      .clk,
      .rst,
      .start_merge,
      .start_normalise,
      .queries(rows_of[normalised_tile*ROW_BITS+:ROW_BITS]),
      .chunks(merge_chunks),
      .depth(elements),
      .busy(merger_busy),
      .last(merger_last),
      .weigh_row,
      .query_valid(weigh_row < merged_rows),
      .query(weigh_row),
      .most(merge_maxima[ROW_AT'(weigh_row)*BITS+:BITS]),
      .sum(merge_sums[ROW_AT'(weigh_row)*BITS+:BITS]),
      .row(merge_row),
      .chunk(merge_chunk),
      .elements(merge_word[merge_chunk*MERGE_LANES*BITS+:MERGE_LANES*BITS]),
      .out_valid(merged_valid),
      .out_query(merged_query),
      .out_chunk(merged_chunk),
      .out(merged),
      .saturated(saturated_now)
  );
  logic [WORD-1:0] output_words[2*ROWS];
  logic [WORD-1:0] output_word;
  logic [QUERY_AT-1:0] output_in, output_out;
  assign output_in = QUERY_AT'(32'(normalised_tile[0]) * ROWS + 32'(merged_query));
  assign output_out = QUERY_AT'(32'(sent_tile) * ROWS + 32'(out_token));
  assign output_word = output_words[output_out];
  assign out_data = output_word[BEAT_AT'(out_beat)*STREAM*8+:STREAM*8];
  // The tile whose outputs are sent: the one that is asked for, or was.
  logic sent_tile, sent_before;
  assign sent_tile = ask && what == ASK_STORE ? stored_tile[0] : sent_before;
  always_ff @(posedge clk) begin
    sent_before <= sent_tile;
    if (merged_valid) output_words[output_in][merged_chunk*MERGE_LANES*16+:MERGE_LANES*16] <= merged;
    saturated <= rst || start ? '0 : saturated + 32'(saturated_now);
  end

  logic unused;
  assign unused = &{1'b0, mask_word, quantiser_busy, predictor_busy, run_busy, merger_busy, executing, clipped, saturated_scores, squares_row, code_row,
                    factor_key, write_port, merge_row, merged_query, query_reciprocal, query_factor, key_reciprocal, key_factor, depth, beat, token,
                    out_token, out_beat, length_at, asked_matrix, coded_matrix, coded_tile, executed_tile};
endmodule
