// An agent whose one turn with tools passes every point of calls that do not get their receipt at the first attempt.

import { z } from "zod";
import { agent, NotApplied, type Reconciliation, Step, type StepNode, tool } from "../../../src/index.ts";
import { scriptedPort } from "../../testing/scripted-port.ts";
import { labelOf, resultsIn } from "../harness/prompt.ts";
import { readWitness, recordWitness } from "../harness/witness.ts";
import { recordEffect, type Setting, toolWork } from "./tool-work.ts";

/**
 * `ring` may not be repeated, and throws `NotApplied` at its first attempt. `post` has its effect, loses the answer, and is
 * looked up. `sign` needs approval. Must be run with one call at a time.
 */
export function chores(setting: Setting): StepNode {
  const { folder } = setting;
  const inputSchema = z.object({ order: z.string() });
  const ring = tool({
    description: "Ring the bell.",
    inputSchema,
    effect: "external",
    execute: ({ order }, call) =>
      toolWork(setting, "ring", order, call, () => {
        if (call.attempt === 1) throw new NotApplied("The bell is being repaired.");
        recordEffect(folder, "ring", order, call);
        return "rung";
      }),
  });
  const post = tool({
    description: "Post a letter.",
    inputSchema,
    effect: "external",
    recovery: "reconcile",
    landsWithinMs: 50,
    execute: ({ order }, call) =>
      toolWork(setting, "post", order, call, (): string => {
        recordEffect(folder, "post", order, call);
        throw new Error("The answer got lost.");
      }),
    reconcile: (_, { idempotencyKey }): Reconciliation<string> => {
      const isThere = readWitness(folder).some(
        (line) => line.kind === "effect" && line.key === idempotencyKey,
      );
      return isThere ? { status: "done", result: "posted" } : { status: "absent" };
    },
  });
  const sign = tool({
    description: "Sign a contract.",
    inputSchema,
    effect: "external",
    approval: true,
    execute: ({ order }, call) =>
      toolWork(setting, "sign", order, call, () => {
        recordEffect(folder, "sign", order, call);
        return "signed";
      }),
  });
  const model = scriptedPort(({ turn, options }) => {
    const order = labelOf(options);
    recordWitness(folder, { kind: "asked", label: order, turn });
    if (turn === 1)
      return { toolCalls: ["ring", "post", "sign"].map((name) => ({ name, input: { order } })) };
    return { text: `Done: ${resultsIn(options).join(", ")}.` };
  });
  return Step.granular("chores", agent({ name: "porter", model, tools: { ring, post, sign } }));
}
