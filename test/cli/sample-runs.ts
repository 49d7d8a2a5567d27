import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { agent, NeedsHuman, openStore, Pipeline, Runner, Step, type Store, tool } from "../../src/index.ts";
import { type ScriptedResponse, scriptedModel } from "../../src/testing/index.ts";

/** A separate folder for the current test, with the store that commands find there. */
export type CliFolder = {
  readonly cwd: string;
  readonly file: string;
  /** Opens the store only during `work`, so that no command finds it in use. */
  withStore<T>(work: (store: Store) => Promise<T>): Promise<T>;
};

export function cliFolder(): CliFolder {
  const cwd = mkdtempSync(join(tmpdir(), "pawl-cli-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const file = join(cwd, ".pawl/pawl.db");
  return {
    cwd,
    file,
    withStore: async (work) => {
      const store = await openStore(`file:${file}`);
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    },
  };
}

const search = tool({
  description: "Search.",
  inputSchema: z.object({ q: z.string() }),
  effect: "read_only",
  execute: ({ q }) => ({ found: q }),
});

const sendEmail = tool({
  description: "Send one email.",
  inputSchema: z.object({ to: z.string(), body: z.string() }),
  approval: true,
  execute: ({ to }) => ({ sent: to }),
});

/** Never answers, so that its outcome is unknown. */
const transferMoney = tool({
  description: "Transfer money.",
  inputSchema: z.object({ to: z.string() }),
  timeoutMs: 20,
  execute: (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new Error("no answer")));
    }),
});

const signIn = tool({
  description: "Sign in.",
  inputSchema: z.object({}),
  execute: () => {
    throw new NeedsHuman("auth_failure", "The token has expired: renew it.");
  },
});

/** A pipeline `name` whose agent gives these responses and then "Done.". */
export function samplePipeline(name: string, ...responses: readonly ScriptedResponse[]) {
  const worker = agent({
    name: "worker",
    model: scriptedModel([...responses, { text: "Done." }]),
    tools: { search, send_email: sendEmail, transfer_money: transferMoney, sign_in: signIn },
  });
  return Pipeline.of(
    name,
    Step.granular("research", worker),
    Step.run("render", (input: string) => input.toUpperCase()),
  );
}

export const SEARCHING: ScriptedResponse = { toolCalls: [{ name: "search", input: { q: "pawls" } }] };
export const HOSTILE_BODY = "Hello \u001b[31mred\u001b[0m\r\n\u202eevil 日本語 and more";
export const MAILING: ScriptedResponse = {
  text: "I mail it.",
  toolCalls: [{ name: "send_email", input: { to: "ann@example.com", body: HOSTILE_BODY } }],
};
export const TRANSFERRING: ScriptedResponse = {
  toolCalls: [{ name: "transfer_money", input: { to: "bob" } }],
};
export const SIGNING_IN: ScriptedResponse = { toolCalls: [{ name: "sign_in", input: {} }] };

/** Runs each pipeline once, with the given id, whatever the outcome. */
export async function runSamples(
  folder: CliFolder,
  samples: { readonly [runId: string]: readonly ScriptedResponse[] },
): Promise<void> {
  await folder.withStore(async (store) => {
    for (const [runId, responses] of Object.entries(samples))
      await new Runner(samplePipeline("report", ...responses), { store }).run("Quantum", { runId });
  });
}

/** A run that fails in its only step. */
export async function failSample(folder: CliFolder, runId: string): Promise<void> {
  const broken = Step.run("boom", () => {
    throw new Error("It is broken.");
  });
  await folder.withStore(async (store) => {
    await new Runner(Pipeline.of("broken", broken), { store }).run("x", { runId }).catch(() => undefined);
  });
}
