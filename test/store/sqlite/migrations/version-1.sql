-- Rows as the program wrote them whose newest migration was 0001: a run that is done (a large result, a failed try of the
-- model, a loop, code), one that was under way when its process was killed, one that failed in the middle of a call, and
-- one that paused.
INSERT INTO runs VALUES
  (1, 'done', 1767225600000, 1767225600030, 'succeeded', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 3, NULL, 1, 0, 500, NULL, 160, 1600, 0, 0, 20, X'fd01a593ab783892c84b1818a8bc929bf3b9d3dc5f8fe4acdc2f8a5d0ad58b42', '"done"', '{"draft":true}', NULL),
  (2, 'under-way', 1767225601030, 1767225601040, 'running', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 6, 'worker/42/01005cb11e82', 1, 1767225631040, NULL, NULL, 60, 600, 100, 1000, 14, X'd18b6dca1e8def9e428e91fd86ad74641291ccf635c95b954e4f5fd5157b5ee3', NULL, NULL, NULL),
  (3, 'failed', 1767225602040, 1767225602040, 'failed', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 7, NULL, 1, 0, NULL, NULL, 30, 300, 0, 0, 5, X'03690af57d22c086fd26c96cf9376ee3c52122ec3f5d078cab330f120ad4c857', NULL, NULL, '{"code":"step_failed","details":{},"message":"It broke."}'),
  (4, 'paused', 1767225602040, 1767225602040, 'waiting', 'report', 'conformance', X'6485796137035e7e7088e9180d5b759c334193db14dc4a5d5cfc05b18d369cf4', 8, NULL, 1, 0, NULL, NULL, 0, 0, 0, 0, 3, X'4c81659338a4a46ceb516e72b38773d5d53e11a73bddd2ed98bd0a07996a5c67', NULL, NULL, '{"code":"paused","details":{},"message":"Later."}');
INSERT INTO run_inputs VALUES
  (1, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]'),
  (2, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]'),
  (3, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]'),
  (4, '{"topic":"ratchets"}', '[{"kind":"granular","name":"draft"}]');
INSERT INTO attempts VALUES
  (1, 1, 'worker/42/01005cb11e82', 1767225600000, 1767225600030, 'succeeded'),
  (2, 1, 'worker/42/01005cb11e82', 1767225601030, NULL, NULL),
  (3, 1, 'worker/42/01005cb11e82', 1767225602040, 1767225602040, 'failed'),
  (4, 1, 'worker/42/01005cb11e82', 1767225602040, 1767225602040, 'waiting');
INSERT INTO run_steps VALUES
  (1, 1, 'draft', 1, 'draft', 'granular', 'work', 'succeeded', 1767225600000, 1767225600030, '"ratchets"', '{"text":"naïve"}', '{"a":1}', NULL, NULL),
  (2, 1, 'loop', 2, 'loop', 'loop', 'work', 'succeeded', 1767225600030, 1767225600030, '"ratchets"', '"done"', NULL, NULL, NULL),
  (3, 1, 'loop[1]/code', 3, 'code', 'run', 'work', 'succeeded', 1767225600030, 1767225600030, '"ratchets"', '"done"', NULL, NULL, NULL),
  (4, 2, 'draft', 1, 'draft', 'granular', 'work', 'running', 1767225601030, 1767225601030, '"ratchets"', NULL, NULL, NULL, NULL),
  (5, 2, 'code', 2, 'code', 'run', 'work', 'running', 1767225601040, 1767225601040, '"ratchets"', NULL, NULL, NULL, NULL),
  (6, 2, 'review', 3, 'review', 'granular', 'work', 'running', 1767225601040, 1767225601040, '"ratchets"', NULL, NULL, NULL, NULL),
  (7, 3, 'draft', 1, 'draft', 'granular', 'work', 'failed', 1767225602040, 1767225602040, '"ratchets"', NULL, NULL, 'step_failed', 'It broke.'),
  (8, 4, 'draft', 1, 'draft', 'granular', 'work', 'blocked', 1767225602040, 1767225602040, '"ratchets"', NULL, NULL, 'paused', 'Later.');
INSERT INTO loop_decisions VALUES
  (2, 1, 1, '1', NULL);
INSERT INTO granular_states VALUES
  (1, 2, 1, 7, 41, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', NULL, NULL, NULL, NULL, NULL),
  (4, 1, 0, 2, 17, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', 2, 1, 1767225601030, 100, 1000),
  (6, 0, 0, 0, 0, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', 1, 1, 1767225601040, 100, 1000),
  (7, 0, 0, 0, 0, X'af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf', 1, 1, 1767225602040, 100, 1000);
INSERT INTO fingerprints VALUES
  (1, '{"input":"ratchets","model":"sample","prompt":"You are careful."}'),
  (4, '{"input":"ratchets","model":"sample","prompt":"You are careful."}'),
  (6, '{"input":"ratchets","model":"sample","prompt":"You are careful."}'),
  (7, '{"input":"ratchets","model":"sample","prompt":"You are careful."}');
INSERT INTO failed_model_calls VALUES
  (1, 1, 1, 1767225600000, 1767225600000, 100, 1000, 'baseline', 100, 1000, 20, 10, 5, 2);
INSERT INTO turns VALUES
  (16777217, 1, 1, 2, 1767225600010, 1767225600010, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 1, 3, '{"content":[{"type":"text","text":"Turn 1."},{"type":"tool-call","toolCallId":"call-1-1","toolName":"search","input":{"query":"1.1"}},{"type":"tool-call","toolCallId":"call-1-2","toolName":"search","input":{"query":"1.2"}},{"type":"tool-call","toolCallId":"call-1-3","toolName":"search","input":{"query":"1.3"}}],"finishReason":"tool-calls","responseId":"response-1"}', 'Go on.'),
  (16777218, 1, 2, 1, 1767225600030, 1767225600030, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 0, 0, '{"content":[{"type":"text","text":"Turn 2."}],"finishReason":"stop","responseId":"response-2"}', NULL),
  (67108865, 4, 1, 1, 1767225601030, 1767225601030, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 5, 1, '{"content":[{"type":"text","text":"Turn 1."},{"type":"tool-call","toolCallId":"call-1-1","toolName":"search","input":{"query":"1.1"}}],"finishReason":"tool-calls","responseId":"response-1"}', NULL),
  (67108866, 4, 2, 1, 1767225601030, 1767225601030, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 6, 3, '{"content":[{"type":"text","text":"Turn 2."},{"type":"tool-call","toolCallId":"call-2-1","toolName":"search","input":{"query":"2.1"}},{"type":"tool-call","toolCallId":"call-2-2","toolName":"search","input":{"query":"2.2"}},{"type":"tool-call","toolCallId":"call-2-3","toolName":"search","input":{"query":"2.3"}}],"finishReason":"tool-calls","responseId":"response-2"}', NULL),
  (117440513, 7, 1, 1, 1767225602040, 1767225602040, 100, 1000, 'provider', 30, 300, 20, 10, 5, 2, 10, 11, 1, '{"content":[{"type":"text","text":"Turn 1."},{"type":"tool-call","toolCallId":"call-1-1","toolName":"search","input":{"query":"1.1"}}],"finishReason":"tool-calls","responseId":"response-1"}', NULL);
INSERT INTO tool_calls VALUES
  (1, 1, 1, 1, 1767225600010, 1767225600010, 'local', 'search', 'external', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'c7669356312b46741bfefb0f9db2c124f3946f5b90740285e37ae257f219b822', 'running', 1, NULL),
  (2, 1, 1, 2, 1767225600010, 1767225600020, 'local', 'search', 'external', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'fb394a372fe8cf1dc3a6c4adbcf2ef1db2d14c306e3af54366baf5a6760dd6e4', 'running', 1, NULL),
  (3, 1, 1, 3, 1767225600010, NULL, 'local', 'search', 'external', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'6857bab6be08c45aacb9fa88da442299c97053f66777ce6de3e3fdcd560e1ba8', 'prepared', 0, NULL),
  (4, 3, 0, 1, 1767225600030, 1767225600030, 'local', 'search', 'read_only', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'9fa89f6b12a24ec922614757e17989b0b1f5db53f9b6431939739a6e0417a604', 'running', 1, '{"query":"code 1"}'),
  (5, 4, 1, 1, 1767225601030, 1767225601030, 'local', 'search', 'external', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'024bebb491d45890892a4a72d0e62768c53894c48d1bf81d5ce80c9c29dc7012', 'running', 1, NULL),
  (6, 4, 2, 1, 1767225601030, 1767225601030, 'local', 'search', 'external', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'fb3bf8dda030e5ef952bfa6d8c3cfc8677e4e50c471ef6c6709b8bf37d07ea0a', 'running', 1, NULL),
  (7, 4, 2, 2, 1767225601030, 1767225601030, 'local', 'search', 'external', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'04b5828838db42e185d95817d54bd459b3e1e462acf3d2e3a606397ec62cffbe', 'running', 1, NULL),
  (8, 4, 2, 3, 1767225601030, NULL, 'local', 'search', 'external', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'cb4287a221e16e2931ebca48c8134d6f00d3d9f0e1eadca7b9d24e527212fd28', 'prepared', 0, NULL),
  (9, 5, 0, 1, 1767225601040, 1767225601040, 'local', 'search', 'external', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'fb38a0358bc3c3f33c39582f830db1f6b70ad6dfeb0e1b946fe4fad4bfacf052', 'running', 1, '{"query":"code 1"}'),
  (10, 5, 0, 2, 1767225601040, 1767225601040, 'local', 'search', 'read_only', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'4bcafed23a9f25a3d79e1b0213ee314275caa57847bc52aebbc374f2a8482b8b', 'running', 1, '{"query":"code 2"}'),
  (11, 7, 1, 1, 1767225602040, 1767225602040, 'local', 'search', 'external', X'689f6a627384c7dcb2dcc1487e540223e77bdf9dcd0d8be8a326eda65b0ce9a4', 1, X'514cda5d32fa30e229d2d988d489fb4ee9ca8b40971ea5b7795748a61662eb07', 'running', 1, NULL);
INSERT INTO receipts VALUES
  (1, 'succeeded', 1767225600020, 7, NULL, X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 64, '{"type":"text","value":"<<FL_BLOB_REF:32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8:size=64>>"}'),
  (2, 'failed', 1767225600030, 7, 'tool_error', NULL, NULL, '{"type":"json","value":{"found":2}}'),
  (3, 'failed', 1767225600020, 7, 'invalid_input', NULL, NULL, '{"type":"error-text","value":"No such city."}'),
  (4, 'succeeded', 1767225600030, 7, NULL, NULL, NULL, '{"type":"json","value":{"found":1}}'),
  (5, 'succeeded', 1767225601030, 7, NULL, NULL, NULL, '{"type":"json","value":{"found":1}}'),
  (6, 'succeeded', 1767225601040, 7, NULL, X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 64, '{"type":"text","value":"<<FL_BLOB_REF:32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8:size=64>>"}'),
  (9, 'succeeded', 1767225601040, 7, NULL, NULL, NULL, '{"type":"json","value":{"found":1}}');
INSERT INTO blobs VALUES
  (1, X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 1767225600020, 64, X'41206c6172676520726573756c742e2041206c6172676520726573756c742e2041206c6172676520726573756c742e2041206c6172676520726573756c742e20');
INSERT INTO blob_references VALUES
  (X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 1),
  (X'32849d32bac4c64fdff64b098d62afe41697a2ea0be5fcf7f2cee9c8be14a6a8', 2);
INSERT INTO events VALUES
  (1, 1, 1767225600000, 'run.created', '{"pipeline":"report","owner":"worker/42/01005cb11e82","epoch":1}', X'ad853c77c7213a6da0cb5d5c8f316e40a80912692569930acf9c41d3d220d2b1'),
  (1, 2, 1767225600000, 'step.begun', '{"step":"draft","kind":"granular"}', X'aa40e6eb9038ebfe47ef924f4bee06eb31ecd868b02ccd542bd5c28eff0b83b1'),
  (1, 3, 1767225600000, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'500194eb7eaed6cfcdc0839662fca05fd4dae76cd82a30f93f3da95fcebe0266'),
  (1, 4, 1767225600000, 'model.settled', '{"turn":1,"attempt":1,"basis":"baseline","charged":{"tokens":100,"microDollars":1000}}', X'014845c66e5dbc8da0f941eca7dac6f45c69af6dbe0c49bc136015318e45cf38'),
  (1, 5, 1767225600010, 'turn.opened', '{"turn":1,"attempt":2,"reserved":{"tokens":100,"microDollars":1000}}', X'763ef2fc2989917353e4136809b87ca65dd21cc7ab5793c5320ca24d3c542399'),
  (1, 6, 1767225600010, 'turn.journaled', '{"turn":1,"attempt":2,"basis":"provider","charged":{"tokens":30,"microDollars":300},"calls":3}', X'32d9f573902099ea90751361b7c67dfc503ed1c9b20cc7937f5f5f47cab75209'),
  (1, 7, 1767225600020, 'call.receipt', '{"turn":1,"call":1,"status":"succeeded"}', X'3d6cf7a581c9ca2065bbaaeebc339968785b3cedeae08bde5d6263f3ea89a385'),
  (1, 8, 1767225600020, 'calls.started', '{"turn":1,"calls":[2]}', X'c2739b0277fb184c52858b617d978656679e6f5170608315cdb7dadc5bd6eb50'),
  (1, 9, 1767225600020, 'call.receipt', '{"turn":1,"call":3,"status":"failed"}', X'27cf5293539980a2876e5cee84f638d5fc17a0a872dc59e63c29af64f14d8b77'),
  (1, 10, 1767225600030, 'turn.committed', '{"turn":1,"reserved":{"tokens":100,"microDollars":1000}}', X'7c59ece2d50c366882010f06e4e6097e0305d406a2197cb3749546641c66b489'),
  (1, 11, 1767225600030, 'turn.committed', '{"turn":2,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"complete":true}', X'32323f0f192e361067bd2b33b3ce9f407f0079a820a86cc79b8b51f5f3164aa4'),
  (1, 12, 1767225600030, 'step.finished', '{"step":"draft"}', X'fbfa1bdb7719dde2a71022bf2675541f3e6ffd5d717dc4e8c3d702289453aeda'),
  (1, 13, 1767225600030, 'step.begun', '{"step":"loop","kind":"loop"}', X'7e65374c5d6cc5ab1a88c5bd5103ab83e0577348743ec84eb20ea3f7a735a3c9'),
  (1, 14, 1767225600030, 'loop.decided', '{"step":"loop","iteration":1,"done":true}', X'063a6e3aa2d54cda59c640d059a6884b6e340e3071a4cbc88866c66553a536ff'),
  (1, 15, 1767225600030, 'step.begun', '{"step":"loop[1]/code","kind":"run"}', X'0780edc19699f79db0b7ff01070b4987fa0134e5bfa9239e0b56632353c65902'),
  (1, 16, 1767225600030, 'calls.started', '{"turn":0,"calls":[1]}', X'05c2dca80841cb78336150302cd28697deb907cb08d693f0c9c9df8e8be09141'),
  (1, 17, 1767225600030, 'call.receipt', '{"turn":0,"call":1,"status":"succeeded"}', X'550a194d8442accda709be7761431e6ee055c8377aded73c6d5ef9c10c29cd33'),
  (1, 18, 1767225600030, 'step.finished', '{"step":"loop[1]/code"}', X'bf8c231efeb061577f91ae9956cbb586dbbc0fbaa2766b6038f0c78fab42206e'),
  (1, 19, 1767225600030, 'step.finished', '{"step":"loop"}', X'8d35446cdee0d892f0f84979dcd6d659d3eb170136d2d13b00fde7e1dfd70a9e'),
  (1, 20, 1767225600030, 'run.succeeded', '{}', X'fd01a593ab783892c84b1818a8bc929bf3b9d3dc5f8fe4acdc2f8a5d0ad58b42'),
  (2, 1, 1767225601030, 'run.created', '{"pipeline":"report","owner":"worker/42/01005cb11e82","epoch":1}', X'6094ae58d4aad13b703cd0cfb1d6b1dd99cbb43f3b3eb4bd4168861c54499392'),
  (2, 2, 1767225601030, 'step.begun', '{"step":"draft","kind":"granular"}', X'5d1f59bb696039a768732bd2a9b27ffdbc88c59f4bc83edbf29ad0ce31e04227'),
  (2, 3, 1767225601030, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'7bfe6e5a8c3a5150f14c944a395bd87d861cc50e2cdb69f0da1058682147fd39'),
  (2, 4, 1767225601030, 'turn.journaled', '{"turn":1,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"calls":1}', X'62e59f9b000ba459c5c66fb73d58aa28b6f77efa65384ac44c1a733289451662'),
  (2, 5, 1767225601030, 'turn.committed', '{"turn":1}', X'39ec313b89cd0a43b07311640f5b12977ac386d3526b1c1f88b434a3feb2f300'),
  (2, 6, 1767225601030, 'turn.opened', '{"turn":2,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'64a9d86b9ffdf6f09ca2f837e1b5338d216820379a61c33482383cee9f160b8a'),
  (2, 7, 1767225601030, 'turn.journaled', '{"turn":2,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"calls":3}', X'a0a9dc9a9eae5f5997212c3c6d8e03711a61617fd79fdf7129fad73ffff81ffe'),
  (2, 8, 1767225601040, 'call.receipt', '{"turn":2,"call":1,"status":"succeeded"}', X'c265ca81d2f4f9544189a1ff4e19092adb10f7c7ee120ebb0267645879e6a8fc'),
  (2, 9, 1767225601040, 'step.begun', '{"step":"code","kind":"run"}', X'665ad64207237c498ab0fb5f13d6abc6003afbc4770570bd6ac22fe437ac2569'),
  (2, 10, 1767225601040, 'calls.started', '{"turn":0,"calls":[1]}', X'8433f595987acdf229dce3971af0fb679b2194e77530593977d3dd12b7caad81'),
  (2, 11, 1767225601040, 'calls.started', '{"turn":0,"calls":[2]}', X'3f3fa230535fd11be1ba5b656ab826b4edccb9ab9f6a154e0a9e6d62370dca56'),
  (2, 12, 1767225601040, 'call.receipt', '{"turn":0,"call":1,"status":"succeeded"}', X'4a434296a375957c179d63b843f264c621f3a5b6a36f7fffdfbc11d6148e7812'),
  (2, 13, 1767225601040, 'step.begun', '{"step":"review","kind":"granular"}', X'8e5f8cd36c423334cd4715908f65da28172cfc84c70546e6152a37f47c936fc3'),
  (2, 14, 1767225601040, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'd18b6dca1e8def9e428e91fd86ad74641291ccf635c95b954e4f5fd5157b5ee3'),
  (3, 1, 1767225602040, 'run.created', '{"pipeline":"report","owner":"worker/42/01005cb11e82","epoch":1}', X'fb087580a37b905e8844f2cd3ad383789f084c1783e80fef1ae548d97f3d73a7'),
  (3, 2, 1767225602040, 'step.begun', '{"step":"draft","kind":"granular"}', X'62ed7846bae83137c868b6f5c1eeb935d448fb8584d130fe63b7b67d7f5c5680'),
  (3, 3, 1767225602040, 'turn.opened', '{"turn":1,"attempt":1,"reserved":{"tokens":100,"microDollars":1000}}', X'223443c1ee86d36dfc2bf864873ed4067f4d974e8d9b0eda9bf553991d5e56e7'),
  (3, 4, 1767225602040, 'turn.journaled', '{"turn":1,"attempt":1,"basis":"provider","charged":{"tokens":30,"microDollars":300},"calls":1}', X'782d327327209929b9e9cb6c8d5d0f7fce8959f4b4c87d869a333d6fe0a71879'),
  (3, 5, 1767225602040, 'run.failed', '{"code":"step_failed"}', X'03690af57d22c086fd26c96cf9376ee3c52122ec3f5d078cab330f120ad4c857'),
  (4, 1, 1767225602040, 'run.created', '{"pipeline":"report","owner":"worker/42/01005cb11e82","epoch":1}', X'fb087580a37b905e8844f2cd3ad383789f084c1783e80fef1ae548d97f3d73a7'),
  (4, 2, 1767225602040, 'step.begun', '{"step":"draft","kind":"granular"}', X'62ed7846bae83137c868b6f5c1eeb935d448fb8584d130fe63b7b67d7f5c5680'),
  (4, 3, 1767225602040, 'run.waiting', '{"code":"paused"}', X'4c81659338a4a46ceb516e72b38773d5d53e11a73bddd2ed98bd0a07996a5c67');
