// A small report with spans of every kind, and the spans that are expected of it.

import { Pipeline, Step, type Store } from "../../../src/index.ts";
import { scriptedAgent } from "../../engine/run-fixture.ts";
import { asking, readOnlyTool } from "./otel-tools.ts";

export const look = readOnlyTool("look");
const find = readOnlyTool("find");

/** Code that makes a call, and then an agent that makes two at once. */
export function report() {
  const { agent } = scriptedAgent([asking(["look", "a"], ["find", "b"]), { text: "Done." }], {
    name: "researcher",
    tools: { look, find },
    settings: { maxOutputTokens: 100, temperature: 0.5, topP: 0.9, seed: 7, stopSequences: ["END"] },
  });
  return Pipeline.of(
    "report",
    Step.run("gather", (_input, ctx) => ctx.call(look, { q: "first" })),
    Step.granular("research", agent),
  );
}

export const RUN = "pawl.run report";
export const AGENT = `${RUN} > invoke_agent researcher`;
export const REPORT_PATHS = [
  RUN,
  `${RUN} > pawl.step gather`,
  `${RUN} > pawl.step gather > execute_tool look`,
  AGENT,
  `${AGENT} > chat scripted-model`,
  `${AGENT} > execute_tool look`,
  `${AGENT} > execute_tool find`,
  `${AGENT} > chat scripted-model`,
];

/** The `traceParent` of every worker of the run. */
export async function traceParents(store: Store): Promise<(string | null)[]> {
  return (await store.listAttempts("r-1")).map(({ traceParent }) => traceParent);
}
