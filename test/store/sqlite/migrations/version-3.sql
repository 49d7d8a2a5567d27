-- Rows as the program wrote them whose newest migration was 0003: a run that is done (a large result, a duplicate, a session, a
-- second line of history), one that waits for a person, with questions that are open, answered and withdrawn, one that failed
-- while it was asking, and one that was under way when its process was killed.
INSERT INTO runs VALUES
  (1, 'done', 1767225600000, 1767225600030, 'succeeded', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 2, NULL, 1, 0, 500, NULL, 150, 1500, 0, 0, 21, X'aa5ac9807968c1901d51e0ccdcbb22ba6738453e04887743a2f6cab0a6990a78', '"done"', '{"draft":true}', NULL, NULL),
  (2, 'waiting', 1767225600040, 1767225600070, 'waiting', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 3, NULL, 2, 0, NULL, NULL, 60, 600, 0, 0, 15, X'0f1471a1129dfee68a7d687c194658e045dc654191a07ee32ad7f7f25c7299ab', NULL, NULL, NULL, 1767229200040),
  (3, 'failed', 1767225600080, 1767225600080, 'failed', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 4, NULL, 2, 0, NULL, NULL, 30, 300, 0, 0, 7, X'930316fb31faf680b4b3a044f4dea089a3d86acd83d0d30b4432818e96de1834', NULL, NULL, '{"code":"step_failed","details":{},"message":"It broke."}', NULL),
  (4, 'under-way', 1767225600090, 1767225600090, 'running', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 5, 'worker/42/03005cb11e82', 1, 1767225630090, NULL, NULL, 60, 600, 0, 0, 8, X'547ba0fb220dc9a14d09085730a30c221d99f134a1b42842e8f0eaf8e03c9c71', NULL, NULL, NULL, NULL);
INSERT INTO run_inputs VALUES
  (1, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]'),
  (2, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]'),
  (3, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]'),
  (4, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]');
INSERT INTO attempts VALUES
  (1, 1, 'worker/42/03005cb11e82', 1767225600000, 1767225600030, 'succeeded', NULL, NULL),
  (2, 1, 'worker/42/03005cb11e82', 1767225600040, 1767225600050, 'waiting', NULL, NULL),
  (2, 2, 'worker/42/03005cb11e82', 1767225600060, 1767225600070, 'waiting', NULL, NULL),
  (3, 1, 'worker/42/03005cb11e82', 1767225600080, 1767225600080, 'waiting', NULL, NULL),
  (3, 2, 'worker/42/03005cb11e82', 1767225600080, 1767225600080, 'failed', NULL, NULL),
  (4, 1, 'worker/42/03005cb11e82', 1767225600090, NULL, NULL, NULL, NULL);
INSERT INTO run_steps VALUES
  (1, 1, 'draft', 1, 'draft', 'granular', 'work', 'succeeded', 1767225600000, 1767225600030, '"ratchets"', '{"text":"naïve"}', '{"a":1}', NULL, NULL),
  (2, 1, 'loop', 2, 'loop', 'loop', 'work', 'succeeded', 1767225600030, 1767225600030, '"ratchets"', '1', NULL, NULL, NULL),
  (3, 2, 'draft', 1, 'draft', 'granular', 'work', 'blocked', 1767225600040, 1767225600070, '"ratchets"', NULL, NULL, NULL, NULL),
  (4, 3, 'draft', 1, 'draft', 'granular', 'work', 'blocked', 1767225600080, 1767225600080, '"ratchets"', NULL, NULL, NULL, NULL),
  (5, 4, 'draft', 1, 'draft', 'granular', 'work', 'running', 1767225600090, 1767225600090, '"ratchets"', NULL, NULL, NULL, NULL);
INSERT INTO loop_decisions VALUES
  (2, 1, 1, '1', NULL);
INSERT INTO granular_states VALUES
  (1, 4, 1, 3, 27, X'3480b8cc6538a395469e77abca0e94dbbe2f06ad25a65c76614e66c45d6e9477', NULL, NULL, NULL, NULL, NULL, 1, 3),
  (3, 1, 0, 2, 17, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', 2, 1, 1767225600040, 100, 1000, 0, 1),
  (4, 0, 0, 0, 0, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', 1, 1, 1767225600080, 100, 1000, 0, 1),
  (5, 1, 0, 2, 17, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', 2, 1, 1767225600090, 100, 1000, 0, 1);
INSERT INTO fingerprints VALUES
  (1, 0, '{"input":"ratchets","model":"sample","prompt":"You are careful."}'),
  (1, 1, '{"input":"ratchets","model":"sample-2","prompt":"You are bold."}'),
  (3, 0, '{"input":"ratchets","model":"sample","prompt":"You are careful."}'),
  (4, 0, '{"input":"ratchets","model":"sample","prompt":"You are careful."}'),
  (5, 0, '{"input":"ratchets","model":"sample","prompt":"You are careful."}');
INSERT INTO failed_model_calls VALUES
  (1, 1, 1, 1767225600000, 1767225600000, 100, 1000, 'baseline', 30, 300, 20, 10, 5, 2);
INSERT INTO turns VALUES
  (16777217, 1, 1, 2, 1767225600010, 1767225600010, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 1, 2, '{"content":[{"type":"text","text":"Turn 1."},{"type":"tool-call","toolCallId":"call-1-1","toolName":"search","input":{"query":"1.1"}},{"type":"tool-call","toolCallId":"call-1-2","toolName":"search","input":{"query":"1.2"}}],"finishReason":"tool-calls","responseId":"response-1"}', NULL),
  (16777218, 1, 2, 1, 1767225600020, 1767225600020, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 0, 0, '{"content":[{"type":"text","text":"Turn 2."}],"finishReason":"stop","responseId":"response-2"}', NULL),
  (16777219, 1, 3, 1, 1767225600020, 1767225600020, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 3, 1, '{"content":[{"type":"text","text":"Turn 3."},{"type":"tool-call","toolCallId":"call-3-1","toolName":"search","input":{"query":"3.1"}}],"finishReason":"tool-calls","responseId":"response-3"}', NULL),
  (16777220, 1, 4, 1, 1767225600030, 1767225600030, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 0, 0, '{"content":[{"type":"text","text":"Turn 4."}],"finishReason":"stop","responseId":"response-4"}', NULL),
  (50331649, 3, 1, 1, 1767225600040, 1767225600040, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 4, 1, '{"content":[{"type":"text","text":"Turn 1."},{"type":"tool-call","toolCallId":"call-1-1","toolName":"search","input":{"query":"1.1"}}],"finishReason":"tool-calls","responseId":"response-1"}', NULL),
  (50331650, 3, 2, 1, 1767225600040, 1767225600040, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 5, 5, '{"content":[{"type":"text","text":"Turn 2."},{"type":"tool-call","toolCallId":"call-2-1","toolName":"search","input":{"query":"2.1"}},{"type":"tool-call","toolCallId":"call-2-2","toolName":"search","input":{"query":"2.2"}},{"type":"tool-call","toolCallId":"call-2-3","toolName":"search","input":{"query":"2.3"}},{"type":"tool-call","toolCallId":"call-2-4","toolName":"search","input":{"query":"2.4"}},{"type":"tool-call","toolCallId":"call-2-5","toolName":"search","input":{"query":"2.5"}}],"finishReason":"tool-calls","responseId":"response-2"}', NULL),
  (67108865, 4, 1, 1, 1767225600080, 1767225600080, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 10, 1, '{"content":[{"type":"text","text":"Turn 1."},{"type":"tool-call","toolCallId":"call-1-1","toolName":"search","input":{"query":"1.1"}}],"finishReason":"tool-calls","responseId":"response-1"}', NULL),
  (83886081, 5, 1, 1, 1767225600090, 1767225600090, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 11, 1, '{"content":[{"type":"text","text":"Turn 1."},{"type":"tool-call","toolCallId":"call-1-1","toolName":"search","input":{"query":"1.1"}}],"finishReason":"tool-calls","responseId":"response-1"}', NULL),
  (83886082, 5, 2, 1, 1767225600090, 1767225600090, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 12, 2, '{"content":[{"type":"text","text":"Turn 2."},{"type":"tool-call","toolCallId":"call-2-1","toolName":"search","input":{"query":"2.1"}},{"type":"tool-call","toolCallId":"call-2-2","toolName":"search","input":{"query":"2.2"}}],"finishReason":"tool-calls","responseId":"response-2"}', NULL);
INSERT INTO tool_calls VALUES
  (1, 1, 1, 1, 1767225600010, 1767225600010, 1767225660010, 'local', 'search', 'external', 'opaque', X'b05e244762b1e472be89a93800cc3ee326743cecb55984bf12813addb8de66d0', 1, X'f2bc540f24c6019afec017c8d2c9e4159f02954d643db2550df14d512da1b817', 'running', 1, 0, NULL),
  (2, 1, 1, 2, 1767225600010, NULL, NULL, 'local', 'search', 'external', 'opaque', X'77ac319bfe1979e2d799d9e6987e65feb54f61511c03552ebae990826c208590', 1, X'f07bb1f6cc7a1bdc770d761977a0e0b64994c3933df72561de01d803c2d93915', 'prepared', 0, 0, NULL),
  (3, 1, 3, 1, 1767225600020, 1767225600020, 1767225660020, 'local', 'search', 'external', 'opaque', X'35efc6ded4e13f29a8d86e4f33294be0f59fcaaf3a56b538f9e34e60e3ae4f44', 1, X'1d6190aa305e7c36e2d2e6aa74bc06feac03a595255febeebf0fedf70d2c19bc', 'running', 1, 0, NULL),
  (4, 3, 1, 1, 1767225600040, 1767225600040, 1767225660040, 'local', 'search', 'external', 'opaque', X'b05e244762b1e472be89a93800cc3ee326743cecb55984bf12813addb8de66d0', 1, X'083b86181b805c025f35c717962c2acb78e2abf7e5489f84ff729146f2870d43', 'running', 1, 0, NULL),
  (5, 3, 2, 1, 1767225600040, 1767225600040, 1767225660040, 'local', 'search', 'external', 'opaque', X'ad78cfa0ead35ff9d0d6de11ae996a470b257a7342d2a53073df0ce8cda04c4d', 1, X'f8a492f17602ed265a0230562268805908ed9c91ffc2d3755ff795ec0bf4814a', 'in_doubt', 1, 0, NULL),
  (6, 3, 2, 2, 1767225600040, NULL, NULL, 'local', 'search', 'external', 'opaque', X'914204c25f3f144ddec3469c61a6faea695c87590ab78a5eb25b0f3904cf84e0', 1, X'134d57a9a9f274eea68331b4d3c39f1b0435c53d1e3a7e7271b6238ac5092bfc', 'prepared', 0, 0, NULL),
  (7, 3, 2, 3, 1767225600040, 1767225600040, 1767225600040, 'local', 'search', 'external', 'opaque', X'8771a6c04174b7f719ebdeca5db87304a72a118a5629a5e2ce9ef7d62158b728', 1, X'6363d3293088c3553e1c16456c914245ae65e27858b0db82cb18f1d340d75b5b', 'in_doubt', 1, 0, NULL),
  (8, 3, 2, 4, 1767225600040, 1767225600040, 1767225660040, 'local', 'search', 'external', 'opaque', X'0814305f8cfb2f14744b7c7ce9da6768802df7bdd801d62be3e0d7caa0d84c81', 1, X'8301da9ea8eb859ffdc7e80f1f784a23231b9f335efbfb3070fb3e6a8cb42086', 'running', 1, 0, NULL),
  (9, 3, 2, 5, 1767225600040, NULL, NULL, 'local', 'search', 'external', 'opaque', X'b8736b999909049671d0ea075a42b308a5fbe2df1854899123fe09eb0ee9de61', 1, X'3c514f70a970a9e77c09e10bd8a0de23698daa6f0444cfc16cdae570f0b96eac', 'prepared', 0, 0, NULL),
  (10, 4, 1, 1, 1767225600080, NULL, NULL, 'local', 'search', 'external', 'opaque', X'b05e244762b1e472be89a93800cc3ee326743cecb55984bf12813addb8de66d0', 1, X'd876984057f21bbeb7da8302174ad76dca7c03871aec946f2261ee0842a5808a', 'prepared', 0, 0, NULL),
  (11, 5, 1, 1, 1767225600090, 1767225600090, 1767225660090, 'local', 'search', 'external', 'opaque', X'b05e244762b1e472be89a93800cc3ee326743cecb55984bf12813addb8de66d0', 1, X'3f6aa952ac88f12a722b44b6656881d14593b7ece3a117c322aaa7329c30f104', 'running', 1, 0, NULL),
  (12, 5, 2, 1, 1767225600090, 1767225600090, 1767225660090, 'local', 'search', 'external', 'opaque', X'ad78cfa0ead35ff9d0d6de11ae996a470b257a7342d2a53073df0ce8cda04c4d', 1, X'ca25b7525dcb107cf63b850b5958f955ef95d61a4e56f01e714441c1dd9b665f', 'running', 1, 0, NULL),
  (13, 5, 2, 2, 1767225600090, 1767225600090, 1767225660090, 'local', 'search', 'external', 'opaque', X'914204c25f3f144ddec3469c61a6faea695c87590ab78a5eb25b0f3904cf84e0', 1, X'07497e2d08474030b3318a1b675aa8e893e767850a723f89f50ef7d6e7f33d9a', 'running', 1, 0, NULL);
INSERT INTO receipts VALUES
  (1, 'succeeded', 1767225600010, 7, NULL, 0, 'tool', NULL, NULL, X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 64, '{"type":"text","value":"<<FL_BLOB_REF:32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8:size=64>>"}', NULL),
  (2, 'deduplicated', 1767225600010, 7, NULL, 0, 'pawl', NULL, 'done/draft#1.1', NULL, NULL, '{"type":"json","value":{"found":2}}', '[{"type":"Noted","what":"twice"}]'),
  (3, 'succeeded', 1767225600020, 7, NULL, 0, 'tool', NULL, NULL, NULL, NULL, '{"type":"json","value":{"found":1}}', NULL),
  (4, 'failed', 1767225600040, 7, 'reset', 1, 'tool', NULL, NULL, NULL, NULL, '{"type":"json","value":{"found":1}}', NULL),
  (7, 'failed', 1767225600060, 39, 'answered', 0, 'person', NULL, NULL, NULL, NULL, '{"type":"error-text","value":"It needed a person, who answered: {\"colour\":\"grün\"}"}', NULL),
  (8, 'succeeded', 1767225600040, 7, NULL, 0, 'tool', NULL, NULL, NULL, NULL, '{"type":"json","value":{"found":4}}', NULL),
  (11, 'succeeded', 1767225600090, 7, NULL, 0, 'tool', NULL, NULL, X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 64, '{"type":"text","value":"<<FL_BLOB_REF:32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8:size=64>>"}', NULL),
  (12, 'succeeded', 1767225600090, 7, NULL, 0, 'tool', NULL, NULL, NULL, NULL, '{"type":"json","value":{"found":1}}', NULL);
INSERT INTO tool_call_tries VALUES
  (2, 5, 1, 1767225600040, 1767225600050, 'lost', NULL, NULL, NULL, NULL, NULL, NULL),
  (2, 7, 1, 1767225600040, 1767225600040, 'needs_human', 'timeout', 'It took too long.', NULL, NULL, NULL, NULL);
INSERT INTO uncertain_calls VALUES
  (2, X'b05e244762b1e472be89a93800cc3ee326743cecb55984bf12813addb8de66d0', 4);
INSERT INTO waits VALUES
  (2, 1, 'in_doubt', 5, 1, 'Did it happen?', '{"tool":"search"}', NULL, 'open', 1767225600050, NULL, NULL, NULL),
  (2, 2, 'approval', 6, 0, 'May it run?', '{"tool":"search"}', X'd9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa', 'withdrawn', 1767225600050, 1767225600070, NULL, NULL),
  (2, 3, 'escalation', 7, 1, 'Which one?', '{"tool":"search"}', NULL, 'answered', 1767225600050, 1767225600060, 'Ann', '{"as":"answered","value":{"colour":"grün"}}'),
  (2, 4, 'approval', 9, 0, 'May it run?', '{"tool":"search"}', X'b192017da47f5d35fb73a303a7ba74a8f4648d05176804ae49d9cdaa1d780812', 'answered', 1767225600050, 1767225600060, 'Bob', '{"approved":true}'),
  (2, 5, 'approval', 6, 0, 'May it run?', '{"tool":"search"}', X'b192017da47f5d35fb73a303a7ba74a8f4648d05176804ae49d9cdaa1d780812', 'open', 1767225600070, NULL, NULL, NULL),
  (3, 1, 'approval', 10, 0, 'May it run?', '{"tool":"search"}', X'b192017da47f5d35fb73a303a7ba74a8f4648d05176804ae49d9cdaa1d780812', 'open', 1767225600080, NULL, NULL, NULL);
INSERT INTO blobs VALUES
  (1, X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 1767225600010, 64, X'41206c6172676520726573756c742e2041206c6172676520726573756c742e2041206c6172676520726573756c742e2041206c6172676520726573756c742e20');
INSERT INTO blob_references VALUES
  (X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 1),
  (X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 4);
INSERT INTO lineages VALUES
  (1, 1, 1767225600020, 3, 1, NULL, 1);
INSERT INTO slices VALUES
  (1, 'log', 'log', 1),
  (1, 'plan', 'state', 1);
INSERT INTO slice_items VALUES
  (1, 'log', 0, '{"said":"naïve"}'),
  (1, 'plan', 0, '"read"'),
  (1, 'plan', 1, '"write"');
INSERT INTO applied_calls VALUES
  (1, 1, 8, 0);
INSERT INTO checkpoints VALUES
  (1, 1, 1, 1, 1767225600010, 'milestone', 8, 0, '{"lastCall":"done/draft#1.1"}', 'json', 15, X'7b22706c616e223a2272656164227d');
INSERT INTO workers VALUES
  ('anna', 'under-way', '{"topic":"ratchets"}', 1767225600090, NULL, NULL);
INSERT INTO events VALUES
  (1, 1, 1767225600000, 'run.created', '{"pipeline":"report","owner":"worker/42/03005cb11e82","epoch":1,"input":"aq9ibsBN-S9CPS_IQA9mFbcAqAw3EdtnzqzhTCw9HhE"}', X'7c6a6e57a6f6c7d8436e72e5c9f5a5646aa3b0f1ad95523f70403f0282162c95'),
  (1, 2, 1767225600000, 'step.begun', '{"step":"draft","kind":"granular"}', X'4cd04a6b15bc790bbc4caef13eb1777f371ba8d0a02e970e2795f43af689ce02'),
  (1, 3, 1767225600000, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'0aa83f6c0bba3a9cb7b96195531fb16d5b7a69dd805255e3e280b27349929086'),
  (1, 4, 1767225600000, 'model.settled', '{"turn":1,"attempt":1,"basis":"baseline","charged":{"tokens":30,"microDollars":300}}', X'40d803d7ef8110e66bfc7d421fe66c48ea0175917f7f372d5f7a43460f7ac688'),
  (1, 5, 1767225600010, 'turn.opened', '{"turn":1,"attempt":2,"reserved":{"tokens":100,"microDollars":1000}}', X'eb91e03fddb2cdb453c8183e70b83b941f558513c74a3cfe6a845c9105579dd7'),
  (1, 6, 1767225600010, 'turn.journaled', '{"step":"draft","turn":1,"attempt":2,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"MfPuYgKzI6bboCNz82VDDvmLFAQl01JOFi12qTkE_qg","calls":["CIbfKBeD-TlYsD_pPUS4SySuqOPuprt_UvtyEG9MZ1E","PZhOiII_F1gWVC3zIWxZ10rzP68CipUR2DkzyANlQtw"]}', X'aa85490a931dbd032da908f66533ee02b271807b4e79dc204750f8f242ae5067'),
  (1, 7, 1767225600010, 'call.receipt', '{"step":"draft","turn":1,"call":1,"status":"succeeded","source":"tool","digest":"0i8MJnFW9uen-sTp-LXRo6tbi71mnbPqo8hiDoxFv1k"}', X'fe5c17f178787f867ecba42bc144d996bcb60d263a1fa0099cc8ec334becbdeb'),
  (1, 8, 1767225600010, 'turn.committed', '{"step":"draft","turn":1,"receipts":[[2,"YNBG7gobFePq8JyfNgLfwxIKDaDRFd6J8LSDYKcaaKs"]],"slices":[["plan",2,[[0,"vdaH46fdCtXzXsm-328c5pMCg4rT5eYZUU1LY89YZ30"],[1,"-S9-nGcnZgljeMet2YgB0pRMVrbEZsAKo4UQWxVLrB4"]],"I8-hm78oQfhD8GMxE1WIHvqF-TtulS0GC8TYeLpPmT4"],["log",1,[[0,"lZj91EAsVMW90dpAwVcqgbxILY49yIoBFIxV72eCv9U"]],"yQO2ot53O5IIN1lrxlLhF0nNoxDzL1r_H9yEXezJFVI"]],"applied":["done/draft#1.1"],"checkpoint":[1,"_dgqz4KTFM_cCswyWmxtN8SeTZbN1EsTX6fmQYzogGQ"]}', X'cbcc3fb9ed2e07d11ea9fdf6a3e89da2ab532c922c6e80c66717214b3c4358d0'),
  (1, 9, 1767225600020, 'turn.opened', '{"turn":2,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'ecf75ba123285d3c3dba3e99bcd617e23a14889b45d0eebac688a81a2547190d'),
  (1, 10, 1767225600020, 'turn.committed', '{"step":"draft","turn":2,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"Pl546emSgfaVYo_-POIwiYbU4GJFDFDGs7pzUiIE6TA"}', X'622c1b38884260251a84406497c20b77cf07d0edba8d1be11d9df27e11eaab8c'),
  (1, 11, 1767225600020, 'lineage.begun', '{"step":"draft","lineage":1,"turn":3,"baseTurn":1,"from":1,"digest":"ziRUK6WaFsaBwosPHC8qJFQyXZPRWwr3kK26EoTzwSM"}', X'746dcd71f3887e3cc4684efd4dbf42f9c638c675591623b52b6b64e96582918d'),
  (1, 12, 1767225600020, 'turn.opened', '{"turn":3,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'7d696ced263cb76f65d7a938d21ae229f9161fbfb63bf03bbfac9d4744962101'),
  (1, 13, 1767225600020, 'turn.journaled', '{"step":"draft","turn":3,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"el06NX1Vi-iSXr7FxSihjiE2qaPQy_MHRLSamM7duRA","calls":["C6m_WleHSo3CEaRCC-74ZbPsSUsUBbqgy22-r4XFl6A"]}', X'bbd8dc5ff1029dd11aa3f7f4f7d1fa7b3eebf750666a22b8bbf3b6ddf769c57e'),
  (1, 14, 1767225600020, 'turn.committed', '{"step":"draft","turn":3,"receipts":[[1,"IEpA_mz4f0ue3G8arQUHdp_0Wvw-XyXpwDd5AfntPOk"]]}', X'3f7cf04e9e12a234f1e67e4bd7c4003f6f352d4e01eea0214f106b32a4e45b0f'),
  (1, 15, 1767225600030, 'turn.opened', '{"turn":4,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'866ac7a07bef971e708862a298fc04a4c663303f56729475bc43c76f6649fb56'),
  (1, 16, 1767225600030, 'turn.committed', '{"step":"draft","turn":4,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"HGLbPU1dmc02th98HvihF9DrQtPnV0BwHtfjfUBF1dQ","complete":true}', X'0ec28ee5e54728e11920aa9a58bd1693849b9124406b249561f560b69e1cccb9'),
  (1, 17, 1767225600030, 'step.finished', '{"step":"draft","output":"CiwgaMMyZVFYLDPCKI2ADppxbQlm17QRw0pwxknkvS4"}', X'1a9afe7af3c8c0340885743016bcd8031d825fb881c33f2aad8c469e50baef04'),
  (1, 18, 1767225600030, 'step.begun', '{"step":"loop","kind":"loop"}', X'c6db959895bf3af66effa5d49aec8fce930e912cf006061d0dea9585678eac5c'),
  (1, 19, 1767225600030, 'loop.decided', '{"step":"loop","iteration":1,"done":true}', X'a153191bedfa0ba6b52fedd88e1b24bdb8819070dcb15bdb4223d55f5a4d7c88'),
  (1, 20, 1767225600030, 'step.finished', '{"step":"loop","output":"6dx2wF32UTcaFMI3WgUnSzlZv5Td4eTWC3wv1IyApzk"}', X'073f1d460712f1ebc7512cba4376757ac8112d9b5951fd675012b6dae5fdf27f'),
  (1, 21, 1767225600030, 'run.succeeded', '{"output":"GdMj9r0vOtGaVfuE_cPMrsGQ1INiULmkCiom3dNT9vc"}', X'aa5ac9807968c1901d51e0ccdcbb22ba6738453e04887743a2f6cab0a6990a78'),
  (2, 1, 1767225600040, 'run.created', '{"pipeline":"report","owner":"worker/42/03005cb11e82","epoch":1,"input":"aq9ibsBN-S9CPS_IQA9mFbcAqAw3EdtnzqzhTCw9HhE"}', X'6307d5031df66582d4ae8fd89a476d8870f15ee8eb16e556f80fdeef2c0767a0'),
  (2, 2, 1767225600040, 'step.begun', '{"step":"draft","kind":"granular"}', X'de64b3c4c52fd94b0466e39a7a0b9818194430889847984603f59e98e052f20d'),
  (2, 3, 1767225600040, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'856d142cc7f02cecb036df433d959b13cf5aa3f2016a43b46d2ac278d6c77fc2'),
  (2, 4, 1767225600040, 'turn.journaled', '{"step":"draft","turn":1,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"MqwlzTAFV7wzhMCTnE8x6dlH5u-jmDUMo2ujFxM9Zcc","calls":["vhIhMXjZrGkvKtagd_eqQWbu4TX2wYzLZBakDsXwfsA"]}', X'cd80c440dbf735c9aca87604b67bb3321973fb663e11c2c128ae2cc76372ba63'),
  (2, 5, 1767225600040, 'turn.committed', '{"step":"draft","turn":1,"receipts":[[1,"LDWY6ZWo9eEOF3IHOFR4lRfvWcatQ_TmR20NKGs_j50"]]}', X'68382102e768eb8000bd4ba7204d16668ae078f3778aeb4ff0f89c3274db2fb1'),
  (2, 6, 1767225600040, 'turn.opened', '{"turn":2,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'6513d1015b1848e260b01cc3feedc80da099b88101479cc9aaa2429a8c05433f'),
  (2, 7, 1767225600040, 'turn.journaled', '{"step":"draft","turn":2,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"8ff3c3TYgJfiiiLMENKXAkh2cjWfV7dsdP5aPTKxQEU","calls":["zKCHeu_XFjkvs0afT8mhQ1BFlgPrFGK7Gtflbl7jjX8","cnpDAywkfHVkgYVlZTa4YP2MTokhZrhgX_H_h2yoU7Y","Equzg4psh8TkHdtkx-4p8PrYdCje6tuJ8S_XR-po6AM","PrVdRbD026OWZN35Ntag04qeiNZkTogKxzXmlPFUSfo","AuSwGR39vpWjx7JobnqOcuRk-j0wChB9dcZs2tW08H0"]}', X'6ff1905599bd1171c349c4ee7525ce846ae15aed87851cf7aa3bc4668f61a2be'),
  (2, 8, 1767225600040, 'call.in_doubt', '{"step":"draft","turn":2,"call":3,"attempt":1,"outcome":"needs_human","code":"timeout","try":"YklwZzx-IlPJmG0YUxGuHUdCtdEI7GCssRGulfBS8Mw"}', X'3cf276b8ab69ffe7a53704499f86c9c3a3603c5ac3049f94718db8853e7d01dd'),
  (2, 9, 1767225600040, 'call.receipt', '{"step":"draft","turn":2,"call":4,"status":"succeeded","source":"tool","digest":"9ODwbiJ49IoQnFl76SxULQCQ3i6w6yVDoawbxjdiIH0"}', X'b2a9133b97bb8b747e519bc88ba02126e91d42e18aee7ce001be0049e30ee788'),
  (2, 10, 1767225600050, 'run.waiting', '{"inDoubt":[{"step":"draft","turn":2,"call":1,"attempt":1,"try":"Fk6Bw1ELTMmaWZJmvYvJJpArhuik2v3XPYoB4u5hFCU"}],"waits":[1,2,3,4]}', X'1fd0b367ae5cbbc14985f7bcbd4526335531ff49a43b74a53d7588197b41951a'),
  (2, 11, 1767225600060, 'wait.answered', '{"wait":3,"by":"Ann","answer":"j_g_NKkBNxQ6w1iLcj-indXdkVqHPvw4pfcJyw9R9Sw","step":"draft","turn":2,"call":3,"status":"failed","source":"person","digest":"0tN1ZxE39O-KCKr4rQ_JG2ZjVHEt6RinxAxlUZzhcns"}', X'3754d9d9055481badc41c1ca9cc5a3c96aaf54fd589e74138b1cc75801b5c204'),
  (2, 12, 1767225600060, 'wait.answered', '{"wait":4,"by":"Bob","answer":"zKYfEtUNDJzwIWNOE-ezPLgtVs7EiusJbhqTSyBaLDY","step":"draft","turn":2,"call":5}', X'472c52737cefc4d85bafd11087b7cc92bebb5b8bcc55bb4406399eb3e8eccd4c'),
  (2, 13, 1767225600060, 'run.claimed', '{"owner":"worker/42/03005cb11e82","epoch":2,"chargedAsLost":[]}', X'62971a560555f80e08647d39f37ed2081971d9af7aeec3c79bd0a7605192a5ce'),
  (2, 14, 1767225600060, 'step.resumed', '{"step":"draft","kind":"granular"}', X'93deeee1b7d80d967117f33535ea0ab79de78187056cd99f6ee3f6864963ed98'),
  (2, 15, 1767225600070, 'run.waiting', '{"waits":[5]}', X'0f1471a1129dfee68a7d687c194658e045dc654191a07ee32ad7f7f25c7299ab'),
  (3, 1, 1767225600080, 'run.created', '{"pipeline":"report","owner":"worker/42/03005cb11e82","epoch":1,"input":"aq9ibsBN-S9CPS_IQA9mFbcAqAw3EdtnzqzhTCw9HhE"}', X'f8dd23fdc4c97d75a7d7b7ac8c83129f818b18b1705c404edc3620f524941a8f'),
  (3, 2, 1767225600080, 'step.begun', '{"step":"draft","kind":"granular"}', X'b800cefd6afb7e13c338f37ce3a5666c76030c031acc4eb05f334ab3d6b8b331'),
  (3, 3, 1767225600080, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'a9795f4e7d485c67b57631a2e403016b5877d4dc1c8f66818ee9a210786b9e5f'),
  (3, 4, 1767225600080, 'turn.journaled', '{"step":"draft","turn":1,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"MqwlzTAFV7wzhMCTnE8x6dlH5u-jmDUMo2ujFxM9Zcc","calls":["Ggb70RG5mSjFb2Yy4mXGCwFfASaE03gT24vWaazjzNI"]}', X'70c59036bfa90754e594161bbd969df5a8a91c41822bae105a0f7e53690d3fbc'),
  (3, 5, 1767225600080, 'run.waiting', '{"waits":[1]}', X'00c7f9a8073478767f18e5a17952d9088cad93ccf1b3a16a17793ad509fcf013'),
  (3, 6, 1767225600080, 'run.claimed', '{"owner":"worker/42/03005cb11e82","epoch":2,"chargedAsLost":[]}', X'2612600c0412aa07051cbab5c39fa7afbb61c6caa7c3c1bdde32fbc1bdee9b2b'),
  (3, 7, 1767225600080, 'run.failed', '{"code":"step_failed"}', X'930316fb31faf680b4b3a044f4dea089a3d86acd83d0d30b4432818e96de1834'),
  (4, 1, 1767225600090, 'run.created', '{"pipeline":"report","owner":"worker/42/03005cb11e82","epoch":1,"input":"aq9ibsBN-S9CPS_IQA9mFbcAqAw3EdtnzqzhTCw9HhE"}', X'c6ffc5454c078f63ac600a121c8f6a3d02ad361d7679e89a07ea5dafa8248e8f'),
  (4, 2, 1767225600090, 'step.begun', '{"step":"draft","kind":"granular"}', X'cd8a7fc7ad2555a120520d4e8ab0118e3fccc93be304e612d8360812d7994376'),
  (4, 3, 1767225600090, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'01bcf2135301ac78010193cea129d1afce3d7281941b4708c35bc22cba330c88'),
  (4, 4, 1767225600090, 'turn.journaled', '{"step":"draft","turn":1,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"MqwlzTAFV7wzhMCTnE8x6dlH5u-jmDUMo2ujFxM9Zcc","calls":["JS-leNTCxr7iwFP7RFXIOfRhXvJsBUuz4azWHoazfIc"]}', X'158a0297a438194b6fded372b161c89aa33a91fcc2e5f866cbba899a724cdc88'),
  (4, 5, 1767225600090, 'turn.committed', '{"step":"draft","turn":1,"receipts":[[1,"pRG1Mv1QmgYnOLsNzu0Nx_zEiHRNf8aSTQHdUbsMKjQ"]]}', X'f73f560783573bf218f3c3a223f15eb3afb01f9a7d0c984aeb9cf13ba2dc7a77'),
  (4, 6, 1767225600090, 'turn.opened', '{"turn":2,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'56f1f5a1d26b25d6ffa9d680554d1b9192b493c6ff6b80310f1e630c997af091'),
  (4, 7, 1767225600090, 'turn.journaled', '{"step":"draft","turn":2,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"response":"DBcsj0TE7FNTX3TPAxLuADUsC227R80Fuu9Nxb7DLE8","calls":["5KEWF0-X4RMZkhxX5BZjsJo1hhcLC0pXvGbQAf1JeFs","4S4XZ2PbV0PQSQ4_HccfMWIhiNU1hp3yaQqbtkXLzkQ"]}', X'7c0e8916bf6931851e8eb643b8ac4b570afd28701cfa3b80c3ad1f39d85d6ccd'),
  (4, 8, 1767225600090, 'call.receipt', '{"step":"draft","turn":2,"call":1,"status":"succeeded","source":"tool","digest":"iSjPAyLLmigFNG50CX5I35IqAOylHMx0HmRTa6JuYOI"}', X'547ba0fb220dc9a14d09085730a30c221d99f134a1b42842e8f0eaf8e03c9c71');
