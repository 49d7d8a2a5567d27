import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { agent, tool } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";

/** What a walk is asked for: so many turns, each with a call that takes so long. */
export function walk(turns: number, pauseMs: number): string {
  return `walk ${turns} turns of ${pauseMs} ms`;
}

const step = tool({
  name: "step",
  description: "Takes a step.",
  inputSchema: z.object({ pauseMs: z.number() }),
  effect: "read_only",
  execute: async ({ pauseMs }) => {
    await sleep(pauseMs);
    return "taken";
  },
});

/** Commits turn after turn, as its input says: something for pages to follow. */
export const walker = agent({
  name: "walker",
  instructions: "Walk.",
  model: scriptedModel(({ turn, options }) => {
    const asked = options.prompt.find(({ role }) => role === "user");
    const [, turns = 0, pauseMs = 0] =
      /walk (\d+) turns of (\d+) ms/.exec(JSON.stringify(asked?.content))?.map(Number) ?? [];
    return turn > turns
      ? { text: "Arrived." }
      : { text: `Step ${turn}.`, toolCalls: [{ name: "step", input: { pauseMs } }] };
  }),
  tools: { step },
  maxTurns: 100_000,
});
