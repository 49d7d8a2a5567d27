// A process to be killed: lives one life in a world as it is ordered to, and writes its end as its last line.

import { type KilledOrder, liveHere } from "../../../src/testing/crash/killed.ts";
import { type ProcessTools, type Scenario, workUntilTheEnd } from "../../../src/testing/crash/scenario.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/** Which of the scenarios, beside what every child is told. */
export type WorkerOrder = KilledOrder & { readonly scenario: string };

const order = JSON.parse(process.argv[2] ?? "null") as WorkerOrder;
const make = SCENARIOS[order.scenario];
if (make === undefined) throw new Error(`There is no scenario ${order.scenario}.`);
process.stdout.write(`${JSON.stringify(await liveHere(resuming(make()), order))}\n`);

/** As somebody does who has read that the disk failed: a run that ended for that is resumed before anything else. */
function resuming(scenario: Scenario): Scenario {
  const { act = (tools: ProcessTools) => workUntilTheEnd(scenario, tools) } = scenario;
  return {
    ...scenario,
    act: async (tools) => {
      for (const { runId, status, error } of await tools.store.listRuns())
        if (status === "failed" && error?.code === "store_unavailable")
          // However that ends, the run has it, and the act comes to it.
          await tools.runner.resume(runId, { wait: true }).catch(() => undefined);
      return act(tools);
    },
  };
}
