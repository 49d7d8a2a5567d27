// Commits turns with one tool call each, as fast as it can, until it is killed.
import { openStore } from "../../../../src/store/open-store.ts";
import { SampleRun } from "../../../../src/testing/store/sample-run.ts";

const store = await openStore(`file:${process.argv[2]}`);
const run = await SampleRun.create(store);
for (let turn = 1; ; turn++) {
  await run.committedWithCall(turn);
  if (turn === 1) console.log("going");
}
