// An agent with the settings of a ToolLoopAgent, for the tests of those settings.

import { tool as sdkTool } from "ai";
import { z } from "zod";
import { type AgentOptions, agent } from "../../../src/index.ts";
import { type ScriptedTurn, scriptedModel } from "../../../src/testing/index.ts";
import { must } from "../../engine/run-fixture.ts";

type CallOptions = ScriptedTurn["options"];

export const text = z.object({ text: z.string() });
export const pay = sdkTool({
  description: "Pays.",
  inputSchema: text,
  execute: ({ text: to }) => `paid ${to}`,
});

/** An agent with settings of a ToolLoopAgent, and the requests to its model. */
export function made(
  options: Partial<AgentOptions<unknown>>,
  answers: Parameters<typeof scriptedModel>[0] = [{ text: "End." }],
) {
  const asked: CallOptions[] = [];
  const model = scriptedModel((turn) => {
    asked.push(turn.options);
    return typeof answers === "function" ? answers(turn) : must(answers[turn.turn - 1]);
  });
  return { asked, agent: agent({ name: "worker", model, ...options }) };
}
