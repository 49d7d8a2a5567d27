import { onTestFinished } from "vitest";
import { z } from "zod";
import type { Target } from "../target.ts";

export type Call = { readonly name: string; readonly input: object };
export type Library = Awaited<ReturnType<Target["library"]>>;

/** A tool that accepts anything and returns this. */
export function echo({ pawl }: Library, name: string, result: unknown = "done", approval = false) {
  return pawl.tool({
    name,
    description: `Does ${name}.`,
    inputSchema: z.looseObject({}),
    effect: "external",
    recovery: "opaque",
    dedupe: "call",
    approval,
    execute: () => result,
  });
}

/** Runs a model that makes these calls, one per turn, and returns what the run stored. */
export async function runOf(
  library: Library,
  tools: { readonly [name: string]: ReturnType<typeof echo> },
  calls: readonly Call[],
  policy: object = { secretKeys: ["password", "pin", "account"] },
) {
  const { pawl, testing } = library;
  const prompts: string[] = [];
  const model = testing.scriptedModel(({ turn, options }) => {
    prompts.push(JSON.stringify(options.prompt));
    const call = calls[turn - 1];
    return call === undefined ? { text: "Done." } : { toolCalls: [call] };
  });
  const store = await pawl.openStore(":memory:");
  onTestFinished(() => store.close());
  const worker = pawl.agent({ name: "worker", model, tools });
  await new pawl.Runner(worker, { store, policy }).run("Go", { runId: "r-1" });
  const ledger = await store.listToolCalls("r-1");
  return {
    prompts,
    requests: ledger.map(({ request }) => JSON.stringify(request)),
    results: ledger.map(({ receipt }) => JSON.stringify(receipt?.output)),
    waits: JSON.stringify(await store.listWaits("r-1")),
  };
}
