// Creates one run after the other, several at a time, and prints each id once the store has acknowledged it.
import { openStore } from "../../../../src/store/open-store.ts";
import { newRun } from "../../../../src/testing/store/sample-run.ts";

const store = await openStore(`file:${process.argv[2]}`);
for (let i = 0; ; i += 3) {
  const ids = [i, i + 1, i + 2].map((n) => `run-${n}`);
  await Promise.all(
    ids.map(async (runId) => {
      await store.createRun(newRun(runId));
      console.log(runId);
    }),
  );
}
