import { agent, openStore, type Tool } from "../../src/index.ts";
import { type ScriptedResponse, scriptedModel } from "../../src/testing/index.ts";

/** Takes the types away, as plain JavaScript or a cast does. */
export const noTypes = (given: unknown) => given as never;

export const worker = (
  turns: readonly ScriptedResponse[] = [{ text: "Done." }],
  tools: { readonly [name: string]: Tool } = {},
  maxTurns = 20,
) => agent({ name: "a", model: scriptedModel(turns), instructions: "Help.", tools, maxTurns });

export async function withMemory<T>(
  work: (options: { readonly store: Awaited<ReturnType<typeof openStore>> }) => Promise<T>,
): Promise<T> {
  const store = await openStore(":memory:");
  try {
    return await work({ store });
  } finally {
    await store.close();
  }
}
