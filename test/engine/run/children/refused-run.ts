// Starts a run whose session is refused, prints the reason, and has nothing more to do: the process must end on its
// own.

import { Step } from "../../../../src/engine/definition/step.ts";
import { Runner } from "../../../../src/engine/runner/runner.ts";
import { openStore } from "../../../../src/index.ts";

const [file, what] = process.argv.slice(2);
const store = await openStore(`file:${file}`);
const step = Step.run("a", () => 1);
const refused = {
  tags: { tags: { team: 7 as unknown as string } },
  "a listener": {
    onSession: () => {
      throw new Error("The listener failed.");
    },
  },
}[String(what)];
try {
  await new Runner(step, { store, ...refused }).run("Go", { runId: "r-1" });
} catch (error) {
  console.log(error instanceof Error ? error.message : error);
}
console.log((await store.getRun("r-1"))?.status ?? "no run");
await store.close();
