// Operations of the accelerator's program (sequencer.sv), as the core shows them.
localparam logic [4:0] IDLE = 5'd0, LOAD_KEYS = 5'd1, LOAD_VALUES = 5'd2, CODE_KEYS = 5'd3, LOAD_QUERIES = 5'd4,
    CODE_QUERIES = 5'd5, PREDICT = 5'd6, LOAD_MASK = 5'd7, PACK = 5'd8, PREPARE = 5'd9, EXECUTE = 5'd10, MERGE = 5'd11,
    NORMALISE = 5'd12, STORE = 5'd13;
