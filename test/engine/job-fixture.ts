// Shared by the tests of jobs: temporary folders, runs with a contract, and short views of what is stored.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";
import {
  type Agent,
  type BudgetExceededError,
  type RunEvent,
  Runner,
  type RunnerOptions,
  type RunSpecInput,
  type StepNode,
  type Store,
  type Tool,
  tool,
} from "../../src/index.ts";

/** The parts of a RunSpec that a test is about. */
export type SpecParts = Omit<Extract<RunSpecInput, { readonly budgets?: unknown }>, "objective">;

export function jobSpec(parts: SpecParts = {}): RunSpecInput {
  return { objective: "Do the work.", ...parts };
}

/** A folder that is deleted when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-job-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A runner whose runs have their folders in a temporary folder; `r-1` is in `pawl-runs/r-1`. */
export function jobRunner<O>(
  target: Agent<O> | StepNode<O>,
  store: Store,
  options: RunnerOptions = {},
): Runner<O> {
  return new Runner(target, { store, random: () => 0, workspaceRoot: temporaryFolder(), ...options });
}

/** The budget that an error names: name, limit and amount used. */
export function budgetOf({ details }: BudgetExceededError): readonly [string, number, number] {
  return [details.budget, details.limit, details.used];
}

/** The steps of run r-1, in the order in which they began or were skipped. */
export async function stepsOf(store: Store, runId = "r-1"): Promise<string[]> {
  return (await store.listSteps(runId)).map(({ path, status }) => `${path} ${status}`);
}

/** The calls of run r-1: id, tool and status. */
export async function callsOf(store: Store, runId = "r-1"): Promise<string[]> {
  const calls = await store.listToolCalls(runId);
  return calls.map(({ toolCallId, tool, status }) => `${toolCallId} ${tool} ${status}`);
}

/** The warnings of a runner. */
export function warnings(): { readonly messages: string[]; readonly onEvent: (event: RunEvent) => void } {
  const messages: string[] = [];
  return {
    messages,
    onEvent: (event) => {
      if (event.type === "warning") messages.push(event.message);
    },
  };
}

/** A tool that returns these pages and records which were fetched. */
export function fetchTool(pages: { readonly [url: string]: string } = {}): {
  readonly fetchPage: Tool<{ url: string }, string>;
  readonly fetched: string[];
} {
  const fetched: string[] = [];
  const fetchPage = tool<{ url: string }, string, { url: string }>({
    name: "fetch_page",
    description: "Fetches a page.",
    inputSchema: z.object({ url: z.string() }),
    effect: "read_only",
    urls: ({ url }) => [url],
    execute: ({ url }) => {
      fetched.push(url);
      return pages[url] ?? "";
    },
  });
  return { fetchPage, fetched };
}

/** The files of a folder, without its owner mark. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .toSorted();
}
