// Mistakes with runners, stores and runs.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { DurableMainLoop, openStore, Runner, Step, tool } from "../../src/index.ts";
import { crashExplorer } from "../../src/testing/crash/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { type Mistake, said } from "./mistake.ts";
import { noTypes, withMemory, worker } from "./mistaken-worker.ts";

const runner = (options: object) => new Runner(worker(), noTypes(options));

const run = (options: object, input: unknown = "Go") =>
  withMemory((own) => new Runner(worker(), own).run(noTypes(input), noTypes(options)));

const again = { toolCalls: [{ name: "say", input: {} }] };
const say = tool({
  description: "Says.",
  inputSchema: z.object({}),
  effect: "read_only",
  execute: () => "said",
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "pawl-mistakes-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

function noDatabase(): string {
  const file = join(folder(), "notes.db");
  writeFileSync(file, "My notes, which are no database at all.\n".repeat(20));
  return file;
}

export const runMistakes: readonly Mistake[] = [
  {
    what: "an unknown option of the Runner",
    make: () => runner({ maxModelAttemps: 5 }),
    says: 'The second argument of Runner has no "maxModelAttemps": did you mean maxModelAttempts?',
    grade: "A+",
  },
  {
    what: "an option of the agent on the Runner",
    make: () => runner({ maxTurns: 5 }),
    says: 'The second argument of Runner has no "maxTurns": did you mean maxTurns of agent({ … })?',
    grade: "A",
  },
  {
    what: "a store as the second argument",
    make: () => withMemory(async ({ store }) => new Runner(worker(), noTypes(store))),
    says: "The second argument of Runner is a SqliteStore: give an object with named options, such as { store }.",
    grade: "A",
  },
  {
    what: "the address of a store as the store",
    make: () => runner({ store: "file:./pawl.db" }),
    says: `The runner's store is a string: give it an open one, await openStore("file:./pawl.db").`,
    grade: "A+",
  },
  {
    what: "a store that was not awaited",
    make: () => runner({ store: Promise.resolve() }),
    says: "The runner's store is a promise: give it an open one, await openStore(…).",
    grade: "A",
  },
  {
    what: "a model as the target",
    make: () => new Runner(noTypes(scriptedModel([]))),
    says: "A runner got an object to run that is no agent, step or pipeline: make one with agent({ … }), Step or Pipeline.of(…).",
    grade: "A",
  },
  {
    what: "no target",
    make: () => new Runner(noTypes(undefined)),
    says: "A runner needs something to run: give it an agent, a step or a pipeline.",
    grade: "A",
  },
  {
    what: "an unknown rule of the policy",
    make: () => runner({ policy: { approvals: ["external"] } }),
    says: `The runner's policy has no "approvals": did you mean approve?`,
    grade: "A+",
  },
  {
    what: "an unknown constraint",
    make: () => runner({ constraints: { allowDomains: [] } }),
    says: `The runner's constraints has no "allowDomains": did you mean allowedDomains?`,
    grade: "A+",
  },
  {
    what: "a lease in seconds that is not whole",
    make: () => runner({ leaseMs: 0.5 }),
    says: "The runner's leaseMs is 0.5: give a whole number from 1 to 2147483647.",
    grade: "A",
  },
  {
    what: "an unknown option of run",
    make: () => run({ id: "r-1" }),
    says: 'The second argument of run has no "id": did you mean runId?',
    grade: "A+",
  },
  {
    what: "a budget in dollars",
    make: () => run({ budget: { usd: 5 } }),
    says: 'A budget has no "usd": did you mean microDollars (1 USD is 1,000,000)?',
    grade: "A+",
  },
  {
    what: "a run id with a blank",
    make: () => run({ runId: "my run" }),
    says: '"my run" cannot be a run id: use 1 to 128 letters, digits, ".", "_", ":", "@", "=", "+" or "-", beginning with a letter or digit, without "..".',
    grade: "A",
  },
  {
    what: "a Date in the input",
    make: () => run({}, { at: new Date(0) }),
    says: "The input of the run is not JSON: $.at is a Date (pass its ISO string or its milliseconds).",
    grade: "A+",
  },
  {
    what: "a function in the input",
    make: () => run({}, { callback: () => 1 }),
    says: "The input of the run is not JSON: $.callback is a function.",
    grade: "B",
  },
  {
    what: "no input",
    make: () => withMemory((own) => new Runner(worker(), own).run(noTypes(undefined))),
    says: "The run has no input: pass one, as in runner.run(input), or null if the pipeline needs none.",
    grade: "A+",
  },
  {
    what: "a run that failed earlier, again",
    make: () =>
      withMemory(async (own) => {
        const broken = Step.run("broken", () => {
          throw new Error("The shelf is empty");
        });
        const runner = new Runner(broken, own);
        await runner.run("Go", { runId: "r-1" }).catch(() => undefined);
        return runner.run("Go", { runId: "r-1" }).catch((error: Error) => {
          throw said(error.message.replace(/\(.* UTC\)/, "(<time> UTC)"));
        });
      }),
    says: 'Run r-1 failed earlier (<time> UTC), and was not continued: Step broken failed: The shelf is empty. Continue it with runner.resume("r-1").',
    grade: "A+",
  },
  {
    what: "the arguments of run swapped",
    make: () => withMemory((own) => new Runner(worker(), own).run({ runId: "r-1" }, noTypes("Go"))),
    says: "The second argument of run is a string: give an object with named options, such as { signal }.",
    grade: "A",
  },
  {
    what: "no run id where one is required",
    make: () => withMemory((own) => new Runner(worker(), { ...own, identity: "required" }).run("Go")),
    says: 'The runner has identity: "required", and this call names no run: give a runId, or a key such as the id of the message or order that the run is for.',
    grade: "A",
  },
  {
    what: "a budget in dollars for a model without a price",
    make: () => run({ spec: { objective: "x", budgets: { maxCostUsd: 1 } } }),
    says: 'The RunSpec has maxCostUsd, and model scripted-model has no price: give the Runner or pawl.config.ts a `pricing` that has it (import { pricesFor } from "pawl/prices" for the usual models), or use maxTokens.',
    grade: "A+",
  },
  {
    what: "a misspelt budget of a RunSpec",
    make: () => run({ spec: { objective: "x", budgets: { maxToken: 1 } } }),
    says: `The RunSpec has a mistake:
budgets.maxToken: is no field of budgets: did you mean maxTokens?`,
    grade: "A+",
  },
  {
    what: "other input for the same run id",
    make: () =>
      withMemory(async (own) => {
        await new Runner(worker(), own).run("One", { runId: "r-1" });
        return new Runner(worker(), own).run("Two", { runId: "r-1" });
      }),
    says: "Run r-1 was started with other input: use another run id, or `resume` to continue it with the input it has.",
    grade: "A",
  },
  {
    what: "resuming with other input",
    make: () => withMemory((own) => new Runner(worker(), own).resume("r-1", noTypes({ input: "x" }))),
    says: 'The second argument of resume has no "input": the input of a run never changes; start another run.',
    grade: "A",
  },
  {
    what: "resuming a run that does not exist",
    make: () => withMemory((own) => new Runner(worker(), own).resume("r-9")),
    says: "There is no run r-9 in this store: check the id and the store's address.",
    grade: "A",
  },
  {
    what: "forking at turn 0",
    make: () =>
      withMemory(async (own) => {
        await new Runner(worker(), own).run("One", { runId: "r-1" });
        return new Runner(worker(), own).fork("r-1", { atTurn: 0 });
      }),
    says: "A run cannot be forked at turn 0: turns are counted from 1.",
    grade: "A",
  },
  {
    what: "forking without a turn",
    make: () => withMemory((own) => new Runner(worker(), own).fork("r-1", noTypes({ turn: 2 }))),
    says: 'The second argument of fork has no "turn": did you mean atTurn?',
    grade: "A+",
  },
  {
    what: "resuming from an unknown place",
    make: () => withMemory((own) => new Runner(worker(), own).resume("r-1", noTypes({ from: "start" }))),
    says: 'A run cannot be resumed from "start": use "turn", "milestone", "beginning", or a checkpoint that onCheckpoint received.',
    grade: "A",
  },
  {
    what: "an unknown option of openStore",
    make: () => openStore(":memory:", noTypes({ readonly: true })),
    says: 'The second argument of openStore has no "readonly": did you mean readOnly?',
    grade: "A+",
  },
  {
    what: "a PostgreSQL server that is not there",
    make: () => openStore("postgres://ann:secret@127.0.0.1:1/pawl"),
    says: "The database postgres://127.0.0.1:1/pawl cannot be reached: nothing was written; check the server, and resume.",
    grade: "A",
  },
  {
    what: "a store in a folder that cannot be created",
    make: () => openStore("file:/dev/null/folder/pawl.db"),
    says: "The folder of the database /dev/null/folder/pawl.db cannot be created (ENOTDIR): create it, or name another file.",
    grade: "A",
  },
  {
    what: "a folder as a store",
    make: () => openStore(`file:${folder()}`),
    says: "The database <folder> cannot be opened, because it is a folder: give the path of a file, such as <folder>/pawl.db.",
    grade: "A+",
  },
  {
    what: "a file that is no database",
    make: () => openStore(noDatabase()),
    says: "The file <folder>/notes.db is not an intact SQLite database: restore it from a backup, or name another file; it was left as it is.",
    grade: "A",
  },
  {
    what: "a DurableMainLoop without checkpoints",
    make: () => new DurableMainLoop(worker(), noTypes({})),
    says: 'DurableMainLoop needs checkpoints: give it { checkpoints: new FileCheckpointStore("workers/worker-001") }.',
    grade: "A+",
  },
  {
    what: "an unknown option of crashExplorer",
    make: () => crashExplorer(noTypes({ agent: worker(), input: "x" })),
    says: 'The argument of crashExplorer has no "agent": did you mean pipeline?',
    grade: "A+",
  },
  {
    what: "a stand-in of crashExplorer under a misspelled name",
    make: () =>
      crashExplorer({ pipeline: worker([{ text: "." }], { say }), input: "x", tools: { sya: () => "" } }),
    says: "There is no tool sya to stand in for: did you mean say? Nothing has run yet.",
    grade: "A+",
  },
  {
    what: "an approval of crashExplorer's person that is true",
    make: () => {
      const asking = worker([again, { text: "." }], { say: { ...say, approval: true } });
      const person = noTypes({ approval: () => true });
      return crashExplorer({ pipeline: asking, input: "x", schedule: "undisturbed", person });
    },
    says: 'person.approval returned true: return "approve", or { deny: "the reason" }.',
    grade: "A+",
  },
  {
    what: "a function of crashExplorer's person under another name",
    make: () =>
      crashExplorer({ pipeline: worker(), input: "x", person: noTypes({ approve: () => "approve" }) }),
    says: '`person` of crashExplorer has no "approve": did you mean approval?',
    grade: "A+",
  },
  {
    what: "an agent that never finishes",
    make: () => withMemory((own) => new Runner(worker([again, again, again], { say }, 2), own).run("Go")),
    says: "Step a was not done after 2 turns: raise maxTurns of its agent({ … }) or Step.granular(name, agent, { … }) and resume; every turn so far is kept. In a job file it is max_turns, for a new run.",
    grade: "A",
  },
  {
    what: "answering a question twice from code, without a name",
    make: () =>
      withMemory(async (own) => {
        const ask = Step.human("ask", { question: "Send it?" });
        const { waits } = await new Runner(ask, own).run("Go", { runId: "r-1" });
        for (const answer of ["yes", "no"]) await own.store.answer(waits[0]?.waitId ?? "", answer);
      }),
    says: "Wait r-1~1 was already answered by a person who gave no name: the answer stays as it is.",
    grade: "A",
  },
];
