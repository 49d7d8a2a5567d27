// A process that kills itself: works in a world by its order, and writes its outcome as its last line.

import { type ChildOrder, runAsChild } from "../../../src/testing/crash/run-in-children.ts";
import { type ProcessTools, type Scenario, workUntilDone } from "../../../src/testing/crash/scenario.ts";
import { SCENARIOS } from "./scenarios/index.ts";

/** The order of every child, and the name of its scenario. */
export type WorkerOrder = ChildOrder & { readonly scenario: string };

const order = JSON.parse(process.argv[2] ?? "null") as WorkerOrder;
const make = SCENARIOS[order.scenario];
if (make === undefined) throw new Error(`There is no scenario ${order.scenario}.`);
process.stdout.write(`${JSON.stringify(await runAsChild(resuming(make()), order))}\n`);

/** Acts like an operator after a disk failure: a run that failed because of it is resumed first. */
function resuming(scenario: Scenario): Scenario {
  const { act = (tools: ProcessTools) => workUntilDone(scenario, tools) } = scenario;
  return {
    ...scenario,
    act: async (tools) => {
      for (const { runId, status, error } of await tools.store.listRuns())
        if (status === "failed" && error?.code === "store_unavailable")
          // A failure is stored in the run, and `act` sees it.
          await tools.runner.resume(runId, { wait: true }).catch(() => undefined);
      return act(tools);
    },
  };
}
