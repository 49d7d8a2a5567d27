// Stored conversations, and the view of them that the model gets.

import { z } from "zod";
import { defineAgent } from "../../../../src/engine/definition/agent.ts";
import { Step } from "../../../../src/engine/definition/step.ts";
import { tool } from "../../../../src/engine/definition/tool.ts";
import type { Scenario } from "../../../../src/testing/crash/scenario.ts";
import type { ScriptedResponse } from "../../../../src/testing/scripted-model.ts";
import { scriptedPort } from "../../scripted-port.ts";

const read = tool({
  name: "read",
  description: "Reads a page.",
  inputSchema: z.object({ page: z.number() }),
  effect: "read_only",
  execute: ({ page }) => ({ page, text: `Line of page ${page}. `.repeat(10) }),
});

const note = tool({
  name: "note",
  description: "Writes something down.",
  inputSchema: z.object({ page: z.number() }),
  effect: "external",
  recovery: "keyed",
  execute: ({ page }, { idempotencyKey }) => ({ page, kept: `${idempotencyKey} `.repeat(5) }),
});

function reads(...pages: readonly number[]): ScriptedResponse {
  return { toolCalls: pages.map((page) => ({ name: "read", input: { page } })) };
}

/** Results over the threshold are stored as blobs. The same text twice is one blob. */
export function blob(): Scenario {
  const reader = defineAgent({
    name: "reader",
    tools: { read, note },
    model: scriptedPort([
      { toolCalls: [...(reads(1, 2).toolCalls ?? []), { name: "note", input: { page: 1 } }] },
      reads(1),
      { text: "Read." },
    ]),
  });
  return {
    name: "blob",
    pipeline: Step.granular("reading", reader, { blobThresholdBytes: 64 }),
    input: "Read.",
    act: async ({ runner, store }) => {
      const result = await runner.run("Read.", { runId: "explored-1", wait: true });
      // No blob is old enough to be collected.
      await store.collectBlobs({ olderThanMs: 24 * 60 * 60_000, maxBytes: 1_000_000 });
      return result;
    },
  };
}

/** A history over the limit, with truncated results: the model reads the page after the last one that it sees. */
export function truncation(): Scenario {
  const reader = defineAgent({
    name: "reader",
    tools: { read },
    model: scriptedPort(({ options: { prompt } }) => {
      const pages = [...JSON.stringify(prompt).matchAll(/Line of page (\d+)/g)].map(([, page]) =>
        Number(page),
      );
      const next = Math.max(0, ...pages) + 1;
      return next <= 5 ? reads(next) : { text: `Read up to page ${next - 1}.` };
    }),
  });
  return {
    name: "truncation",
    pipeline: Step.granular("reading", reader, {
      historyMaxTokens: 170,
      maxResultTokens: 80,
      blobThresholdBytes: 1_000_000,
    }),
    input: "Read on.",
  };
}
