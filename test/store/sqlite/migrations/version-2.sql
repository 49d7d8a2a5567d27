-- Rows as the program wrote them whose newest migration was 0002: a run that is done (a large result, a duplicate, a call that
-- was tried twice, a failed try of the model, a loop, code), one that waits for a person and has an uncertain call behind
-- it, and one that was under way when its process was killed.
INSERT INTO runs VALUES
  (1, 'done', 1767225600000, 1767225600030, 'succeeded', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 3, NULL, 1, 0, 500, NULL, 90, 900, 0, 0, 21, X'53282d673e2199b51718c946830278d9e904c695478ae4842aa78e2015466445', '"done"', '{"draft":true}', NULL),
  (2, 'waiting', 1767225600040, 1767225600060, 'waiting', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 4, NULL, 1, 0, NULL, NULL, 60, 600, 0, 0, 9, X'82255e94bcafc922b752a08d5ba9d7c8efbfc9ef1bfaf0536603fe62c121fdbc', NULL, NULL, NULL),
  (3, 'under-way', 1767225600070, 1767225600080, 'running', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 6, 'worker/42/02005cb11e82', 1, 1767225630070, NULL, NULL, 60, 600, 100, 1000, 10, X'ce4f20e4cb55a75c67d07161eb7a0ec269ab5b34cae9272b9cf63d6c1c20ecc8', NULL, NULL, NULL);
INSERT INTO run_inputs VALUES
  (1, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]'),
  (2, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]'),
  (3, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]');
INSERT INTO attempts VALUES
  (1, 1, 'worker/42/02005cb11e82', 1767225600000, 1767225600030, 'succeeded'),
  (2, 1, 'worker/42/02005cb11e82', 1767225600040, 1767225600050, 'waiting'),
  (3, 1, 'worker/42/02005cb11e82', 1767225600070, NULL, NULL);
INSERT INTO run_steps VALUES
  (1, 1, 'draft', 1, 'draft', 'granular', 'work', 'succeeded', 1767225600000, 1767225600030, '"ratchets"', '{"text":"naïve"}', '{"a":1}', NULL, NULL),
  (2, 1, 'loop', 2, 'loop', 'loop', 'work', 'succeeded', 1767225600030, 1767225600030, '"ratchets"', '1', NULL, NULL, NULL),
  (3, 1, 'loop[1]/code', 3, 'code', 'run', 'work', 'succeeded', 1767225600030, 1767225600030, '"ratchets"', '1', NULL, NULL, NULL),
  (4, 2, 'draft', 1, 'draft', 'granular', 'work', 'blocked', 1767225600040, 1767225600050, '"ratchets"', NULL, NULL, NULL, NULL),
  (5, 3, 'draft', 1, 'draft', 'granular', 'work', 'running', 1767225600070, 1767225600070, '"ratchets"', NULL, NULL, NULL, NULL),
  (6, 3, 'review', 2, 'review', 'granular', 'work', 'running', 1767225600080, 1767225600080, '"ratchets"', NULL, NULL, NULL, NULL);
INSERT INTO loop_decisions VALUES
  (2, 1, 1, '1', NULL);
INSERT INTO granular_states VALUES
  (1, 2, 1, 6, 41, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', NULL, NULL, NULL, NULL, NULL),
  (4, 1, 0, 2, 17, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', 2, 1, 1767225600040, 100, 1000),
  (5, 1, 0, 2, 17, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', 2, 1, 1767225600070, 100, 1000),
  (6, 0, 0, 0, 0, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', 1, 1, 1767225600080, 100, 1000);
INSERT INTO fingerprints VALUES
  (1, '{"input":"ratchets","model":"sample","prompt":"You are careful."}'),
  (4, '{"input":"ratchets","model":"sample","prompt":"You are careful."}'),
  (5, '{"input":"ratchets","model":"sample","prompt":"You are careful."}'),
  (6, '{"input":"ratchets","model":"sample","prompt":"You are careful."}');
INSERT INTO failed_model_calls VALUES
  (1, 1, 1, 1767225600000, 1767225600000, 100, 1000, 'baseline', 30, 300, 20, 10, 5, 2);
INSERT INTO turns VALUES
  (16777217, 1, 1, 2, 1767225600010, 1767225600010, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 1, 3, '{"content":[{"type":"text","text":"Turn 1."},{"type":"tool-call","toolCallId":"call-1-1","toolName":"search","input":{"query":"1.1"}},{"type":"tool-call","toolCallId":"call-1-2","toolName":"search","input":{"query":"1.2"}},{"type":"tool-call","toolCallId":"call-1-3","toolName":"search","input":{"query":"1.3"}}],"finishReason":"tool-calls","responseId":"response-1"}', 'Go on.'),
  (16777218, 1, 2, 1, 1767225600030, 1767225600030, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 0, 0, '{"content":[{"type":"text","text":"Turn 2."}],"finishReason":"stop","responseId":"response-2"}', NULL),
  (67108865, 4, 1, 1, 1767225600040, 1767225600040, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 5, 1, '{"content":[{"type":"text","text":"Turn 1."},{"type":"tool-call","toolCallId":"call-1-1","toolName":"search","input":{"query":"1.1"}}],"finishReason":"tool-calls","responseId":"response-1"}', NULL),
  (67108866, 4, 2, 1, 1767225600040, 1767225600040, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 6, 2, '{"content":[{"type":"text","text":"Turn 2."},{"type":"tool-call","toolCallId":"call-2-1","toolName":"search","input":{"query":"2.1"}},{"type":"tool-call","toolCallId":"call-2-2","toolName":"search","input":{"query":"2.2"}}],"finishReason":"tool-calls","responseId":"response-2"}', NULL),
  (83886081, 5, 1, 1, 1767225600070, 1767225600070, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 8, 1, '{"content":[{"type":"text","text":"Turn 1."},{"type":"tool-call","toolCallId":"call-1-1","toolName":"search","input":{"query":"1.1"}}],"finishReason":"tool-calls","responseId":"response-1"}', NULL),
  (83886082, 5, 2, 1, 1767225600070, 1767225600070, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 9, 2, '{"content":[{"type":"text","text":"Turn 2."},{"type":"tool-call","toolCallId":"call-2-1","toolName":"search","input":{"query":"2.1"}},{"type":"tool-call","toolCallId":"call-2-2","toolName":"search","input":{"query":"2.2"}}],"finishReason":"tool-calls","responseId":"response-2"}', NULL);
INSERT INTO tool_calls VALUES
  (1, 1, 1, 1, 1767225600010, 1767225600010, 1767225660010, 'local', 'search', 'external', 'opaque', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'c7669356312b46741bfefb0f9db2c124f3946f5b90740285e37ae257f219b822', 'running', 1, 0, NULL),
  (2, 1, 1, 2, 1767225600010, NULL, NULL, 'local', 'search', 'external', 'opaque', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'fb394a372fe8cf1dc3a6c4adbcf2ef1db2d14c306e3af54366baf5a6760dd6e4', 'prepared', 0, 0, NULL),
  (3, 1, 1, 3, 1767225600010, 1767225600030, 1767225660030, 'local', 'search', 'external', 'opaque', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'6857bab6be08c45aacb9fa88da442299c97053f66777ce6de3e3fdcd560e1ba8', 'running', 2, 0, NULL),
  (4, 3, 0, 1, 1767225600030, 1767225600030, 1767225660030, 'local', 'search', 'external', 'opaque', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'9fa89f6b12a24ec922614757e17989b0b1f5db53f9b6431939739a6e0417a604', 'running', 1, 0, '{"query":"code 1"}'),
  (5, 4, 1, 1, 1767225600040, 1767225600040, 1767225660040, 'local', 'search', 'external', 'opaque', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'64d847127366ef618bec9ebb97768f0c699ee19ac8abc685f0057f65fc883f83', 'running', 1, 0, NULL),
  (6, 4, 2, 1, 1767225600040, 1767225600040, 1767225660040, 'local', 'search', 'external', 'opaque', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'c0a6ec0305bbb43e244796af97cd54216a6d3c055cc76425a6c4597f946f3339', 'in_doubt', 1, 0, NULL),
  (7, 4, 2, 2, 1767225600040, NULL, NULL, 'local', 'search', 'external', 'opaque', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'd0e8e7540cf66858325f1b24e4c85cfbe60d0a5d920367b9e76593a4b0df9b2f', 'prepared', 0, 0, NULL),
  (8, 5, 1, 1, 1767225600070, 1767225600070, 1767225660070, 'local', 'search', 'external', 'opaque', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'024bebb491d45890892a4a72d0e62768c53894c48d1bf81d5ce80c9c29dc7012', 'running', 1, 0, NULL),
  (9, 5, 2, 1, 1767225600070, 1767225600070, 1767225660070, 'local', 'search', 'external', 'opaque', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'fb3bf8dda030e5ef952bfa6d8c3cfc8677e4e50c471ef6c6709b8bf37d07ea0a', 'running', 1, 0, NULL),
  (10, 5, 2, 2, 1767225600070, 1767225600070, 1767225660070, 'local', 'search', 'external', 'opaque', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'04b5828838db42e185d95817d54bd459b3e1e462acf3d2e3a606397ec62cffbe', 'running', 1, 0, NULL);
INSERT INTO receipts VALUES
  (1, 'succeeded', 1767225600020, 7, NULL, 0, 'tool', NULL, NULL, X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 64, '{"type":"text","value":"<<FL_BLOB_REF:32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8:size=64>>"}'),
  (2, 'deduplicated', 1767225600020, 7, NULL, 0, 'pawl', NULL, 'done/draft#1.1', NULL, NULL, '{"type":"json","value":{"found":2}}'),
  (3, 'succeeded', 1767225600030, 7, NULL, 0, 'tool', 'm-1', NULL, NULL, NULL, '{"type":"json","value":{"found":3}}'),
  (4, 'succeeded', 1767225600030, 7, NULL, 0, 'tool', NULL, NULL, NULL, NULL, '{"type":"json","value":{"found":1}}'),
  (5, 'failed', 1767225600040, 7, 'reset', 1, 'tool', NULL, NULL, NULL, NULL, '{"type":"json","value":{"found":1}}'),
  (8, 'succeeded', 1767225600070, 7, NULL, 0, 'tool', NULL, NULL, NULL, NULL, '{"type":"json","value":{"found":1}}'),
  (9, 'succeeded', 1767225600080, 7, NULL, 0, 'tool', NULL, NULL, X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 64, '{"type":"text","value":"<<FL_BLOB_REF:32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8:size=64>>"}');
INSERT INTO tool_call_tries VALUES
  (1, 3, 1, 1767225600010, 1767225600020, 'failed', 'timeout', 'It took too long.', NULL, NULL, NULL, NULL),
  (2, 6, 1, 1767225600040, 1767225600050, 'lost', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO uncertain_calls VALUES
  (2, X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 5);
INSERT INTO waits VALUES
  (2, 1, 'in_doubt', 6, 1, 'Did it happen?', '{"tool":"search"}', NULL, 'open', 1767225600050, NULL, NULL, NULL),
  (2, 2, 'approval', 7, 0, 'May it run?', '{"tool":"search"}', X'b192017da47f5d35fb73a303a7ba74a8f4648d05176804ae49d9cdaa1d780812', 'answered', 1767225600050, 1767225600060, 'Ann', '{"approved":true}');
INSERT INTO blobs VALUES
  (1, X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 1767225600020, 64, X'41206c6172676520726573756c742e2041206c6172676520726573756c742e2041206c6172676520726573756c742e2041206c6172676520726573756c742e20');
INSERT INTO blob_references VALUES
  (X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 1),
  (X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 3);
INSERT INTO events VALUES
  (1, 1, 1767225600000, 'run.created', '{"pipeline":"report","owner":"worker/42/02005cb11e82","epoch":1,"input":"aq9ibsBN-S9CPS_IQA9mFbcAqAw3EdtnzqzhTCw9HhE"}', X'b3695d5bfd368b052b8c8a38354b71f8a4603d77107e2b5d210ca647698f2f1c'),
  (1, 2, 1767225600000, 'step.begun', '{"step":"draft","kind":"granular"}', X'fe47edf5c79c8dc42c97a38c62db8879943e934102f6978a76fb53c6ad3b0ffc'),
  (1, 3, 1767225600000, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'6f939ff21b41f29d1c52cc52f7644c51f75fca93c86101bda4ad9908e5ff807f'),
  (1, 4, 1767225600000, 'model.settled', '{"turn":1,"attempt":1,"basis":"baseline","charged":{"tokens":30,"microDollars":300}}', X'27c2e50dd667bf49a98070bbf76ac9cd21d62098d568bc8564bb10f5a93a72d4'),
  (1, 5, 1767225600010, 'turn.opened', '{"turn":1,"attempt":2,"reserved":{"tokens":100,"microDollars":1000}}', X'ece0db71d7a64be4b6df8fa580b0ff619ca3d7ac7fc7da472cd19f3e0132dfd8'),
  (1, 6, 1767225600010, 'turn.journaled', '{"step":"draft","turn":1,"attempt":2,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"cep3MFxleEXCYMNbPjWsuMN9OmZPxnzadMIBfmtbD5w","calls":["L8hZfaWzJ4lgLtc2eX74QYtcf4MFY4Nv_8o9F6fpjvk","ewpBOKSjp8UMCG7cwJDTpPsgrJvxhI6V1CESIcvHIzk","bCkminVvPs-VxKktE0OgF0TD8LVtvRUc5j4ZIVQYlvs"]}', X'535b0b7072ec212fd75078cf7a7302c958b4bef3ca07a9c89f931dfca4e60d38'),
  (1, 7, 1767225600020, 'call.receipt', '{"step":"draft","turn":1,"call":1,"status":"succeeded","source":"tool","digest":"S-dIw69gzO0suDnwc-2UUaUIGBxdCJ9pU28rOmISbMg"}', X'2b07f8e0e0c2613e3bbea525d85776296d0b76aff1759be0b1a709ee75cc428c'),
  (1, 8, 1767225600020, 'call.receipt', '{"step":"draft","turn":1,"call":2,"status":"deduplicated","source":"pawl","digest":"fFDZqbnaIob7twrm1YNt3RNrQI9XnWpezxHjQUZXyx0"}', X'a7f58a3a8b3bf1c96e1db4d592aab85d75a31ff27d6c5de0fb0a35a1de289cd4'),
  (1, 9, 1767225600020, 'call.tried', '{"step":"draft","turn":1,"call":3,"attempt":1,"outcome":"failed","code":"timeout","try":"MnurjO4kKoLa_kBc7u3RS0fOVc6J2kMPGb5WzoPZ4Wg"}', X'1258b83b6b82f31ce7c3aa34ceed7d0c6ed5a5621ad53058c7b7a2e050250bfa'),
  (1, 10, 1767225600030, 'calls.started', '{"step":"draft","turn":1,"calls":[3]}', X'9d5a6321cf59c21d791eb452659173f0ec634742b40b90ef63923825cf6fd317'),
  (1, 11, 1767225600030, 'turn.committed', '{"step":"draft","turn":1,"receipts":[[3,"VQavE22n-mhMhU_H5auoj_aC8CgM3Lf_d1IBd9J6kXU"]],"followUp":"_7YZVh2ctDxgKolqYSEcn-a_yf5PwptZUpIu1nzStJ8","reserved":{"tokens":100,"microDollars":1000}}', X'23dae286d99caa8b02a714db4b25e610adbbbe3f8798f4604c7866f8b9124eb8'),
  (1, 12, 1767225600030, 'turn.committed', '{"step":"draft","turn":2,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"Pl546emSgfaVYo_-POIwiYbU4GJFDFDGs7pzUiIE6TA","complete":true}', X'78ac21952f086cc40dd3e1f8e05ebac0b3cd87896dfcd1c7d131256549a96031'),
  (1, 13, 1767225600030, 'step.finished', '{"step":"draft","output":"CiwgaMMyZVFYLDPCKI2ADppxbQlm17QRw0pwxknkvS4"}', X'c60ba1a339d9149407085feff6a979d0a6a34f1244863278514829c1d589f618'),
  (1, 14, 1767225600030, 'step.begun', '{"step":"loop","kind":"loop"}', X'09a298f3f24dfe6a38c936bc0814086157fb45834539bb398c58fd0911d14dae'),
  (1, 15, 1767225600030, 'step.begun', '{"step":"loop[1]/code","kind":"run"}', X'efb90459a21468b1dd6ec90afcf5d78c12e3e92d5b264ed5c16af0d81574aa19'),
  (1, 16, 1767225600030, 'calls.started', '{"step":"loop[1]/code","turn":0,"calls":[1],"digest":"RxSKFFY54gznkZDfQCfKTh7AciZqyfqk0f2PuGEUWYA"}', X'1126ed8eea93b48a84e7d8aae00a379d966ed375b6cf637dafa6e965b9aaa1f9'),
  (1, 17, 1767225600030, 'call.receipt', '{"step":"loop[1]/code","turn":0,"call":1,"status":"succeeded","source":"tool","digest":"egk0chNCaoeD71OBHDFYUfajjFJgwgjX-YIBT5dn0Mg"}', X'89fcd6f6232421b5adab2bf557cc694c569cb4c030924338d79da1e9b936fa13'),
  (1, 18, 1767225600030, 'step.finished', '{"step":"loop[1]/code","output":"6dx2wF32UTcaFMI3WgUnSzlZv5Td4eTWC3wv1IyApzk"}', X'3154ceadb2f0297a78ed9970e2ea652b87286e7d0d47f5cb709c2816f0606797'),
  (1, 19, 1767225600030, 'loop.decided', '{"step":"loop","iteration":1,"done":true}', X'18853d5a2d36b42c534628d32a924a4eed22fd0530410642290bb34a61942b40'),
  (1, 20, 1767225600030, 'step.finished', '{"step":"loop","output":"6dx2wF32UTcaFMI3WgUnSzlZv5Td4eTWC3wv1IyApzk"}', X'81192ec61abaf35cb6d9fcc50e74364c53b126910f34bdbb6014c6cba74f493b'),
  (1, 21, 1767225600030, 'run.succeeded', '{"output":"GdMj9r0vOtGaVfuE_cPMrsGQ1INiULmkCiom3dNT9vc"}', X'53282d673e2199b51718c946830278d9e904c695478ae4842aa78e2015466445'),
  (2, 1, 1767225600040, 'run.created', '{"pipeline":"report","owner":"worker/42/02005cb11e82","epoch":1,"input":"aq9ibsBN-S9CPS_IQA9mFbcAqAw3EdtnzqzhTCw9HhE"}', X'03f76f149350f641ae356af69a1165cf9bb477622021de76db3c173f36bceee4'),
  (2, 2, 1767225600040, 'step.begun', '{"step":"draft","kind":"granular"}', X'ca66f5d3284458eb128724a5e15b7265361f5b3d19d731ea939d348096ec63d7'),
  (2, 3, 1767225600040, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'855aeedb6f233e5da149dd62d2acee932481771ee55dd86457cbc0d03eb062d0'),
  (2, 4, 1767225600040, 'turn.journaled', '{"step":"draft","turn":1,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"MqwlzTAFV7wzhMCTnE8x6dlH5u-jmDUMo2ujFxM9Zcc","calls":["MHe4cDficaD_hKsimKNB-pwBl_EhippT0DwdotK6axo"]}', X'8c7998d4cc7c8ffe845a3846603de59242df3a087ab6cc23ed5004b364eb374b'),
  (2, 5, 1767225600040, 'turn.committed', '{"step":"draft","turn":1,"receipts":[[1,"_RHiuHCb44Gz1MicH5ELO_CLPWzlRbWA_DCgAV40spQ"]]}', X'387058eb2b18af47643991afd6c86d4b23801181381c5b5db6068f3c294bf5df'),
  (2, 6, 1767225600040, 'turn.opened', '{"turn":2,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'3afc8451e841f64752e3bcd7cf6fdf74c07eb03b79381047d5dd5edf8ee86d79'),
  (2, 7, 1767225600040, 'turn.journaled', '{"step":"draft","turn":2,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"DBcsj0TE7FNTX3TPAxLuADUsC227R80Fuu9Nxb7DLE8","calls":["T1lX80wtyVtGbhjwWxe26ekzXbqBLG3bD0j924yFeWM","3ZitcI9eux037eVIEGr1zqEqBUXYkKW5O27fOYJDZ5U"]}', X'a9321ab8d4335d764d4db310fb83d4444bd2b2f9ee9c1db5526191a3d34a4889'),
  (2, 8, 1767225600050, 'run.waiting', '{"inDoubt":[{"step":"draft","turn":2,"call":1,"attempt":1,"try":"pdwMU8Q1WzvO9V6kFeQx7Sb_Pr-iMvzNjg2KEmd3Mrs"}],"waits":[1,2]}', X'724d055f487a92194158c04fd3ac6fb4d913153a6dbdc3b72b762ab009062042'),
  (2, 9, 1767225600060, 'wait.answered', '{"wait":2,"by":"Ann","answer":"nQNuRrwpWfQN79q5A2t8KSwZOKhCcbY7ficOcithqqw","step":"draft","turn":2,"call":2}', X'82255e94bcafc922b752a08d5ba9d7c8efbfc9ef1bfaf0536603fe62c121fdbc'),
  (3, 1, 1767225600070, 'run.created', '{"pipeline":"report","owner":"worker/42/02005cb11e82","epoch":1,"input":"aq9ibsBN-S9CPS_IQA9mFbcAqAw3EdtnzqzhTCw9HhE"}', X'7ae8e905b81c5728c87286d073d925f8891acbc8244614a4d6297dcbcee62357'),
  (3, 2, 1767225600070, 'step.begun', '{"step":"draft","kind":"granular"}', X'8e3d3c25ad563cbbb1b8083d251661b4f1f27b76f17d1d52ccc1a2b736dced36'),
  (3, 3, 1767225600070, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'4e2561ac43c46fff4d4a8707ce104b7a96799e1d66035dcff7448062734d82f9'),
  (3, 4, 1767225600070, 'turn.journaled', '{"step":"draft","turn":1,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"MqwlzTAFV7wzhMCTnE8x6dlH5u-jmDUMo2ujFxM9Zcc","calls":["Qmtl7332hLCtzcQD9fkw3TCt53GUtdpwyi08-BXbIGo"]}', X'77d0652acf0738bc55c4836ec746df31702f11d162ad715f4fa9dc3add4404eb'),
  (3, 5, 1767225600070, 'turn.committed', '{"step":"draft","turn":1,"receipts":[[1,"501ocnt1VZmRdE4G9RlaYqPyIQ3MGVs0H3NLBFxixCE"]]}', X'14fb6ae088134f2a7b6e6a65fc77e0cc25caf56bbe7de6fb46324b47805f7981'),
  (3, 6, 1767225600070, 'turn.opened', '{"turn":2,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'a9ea346de901dcaa4aeac585b102315067772a1e633c26671560d65774d9e0b4'),
  (3, 7, 1767225600070, 'turn.journaled', '{"step":"draft","turn":2,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"DBcsj0TE7FNTX3TPAxLuADUsC227R80Fuu9Nxb7DLE8","calls":["QH5Ihrdwg2ezG9IIWKthKTB10q3jM1kms6uyVHFNhi8","ccQ76VQPLTC8yYElpKiYdOjJH2Ud7k3LvogeOI7vauc"]}', X'4abfaf61d3337f6001d502ed58f0144899613b5b8c7a7599577d5aa64f1fbdcd'),
  (3, 8, 1767225600080, 'call.receipt', '{"step":"draft","turn":2,"call":1,"status":"succeeded","source":"tool","digest":"RylxrWeoTSLCRQ7op7Xj_aqsd7CIVVszFGtjCFZ8Me0"}', X'71713da0d8b6525ac56e12d353aa6fa737ccb46e85b4840243bb4cc799740016'),
  (3, 9, 1767225600080, 'step.begun', '{"step":"review","kind":"granular"}', X'8bda820b952fc4949f049ca7e712ff34076675f12ca6ba285ca8a7fd94cdb439'),
  (3, 10, 1767225600080, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'ce4f20e4cb55a75c67d07161eb7a0ec269ab5b34cae9272b9cf63d6c1c20ecc8');
