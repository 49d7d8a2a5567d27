// Rules that are given as an instance of a class, or by code of another realm: a misspelt one is refused all the same.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  agent,
  ConfigurationError,
  DatabaseCheckpointStore,
  DurableMainLoop,
  defineConfig,
  type JobCeiling,
  Runner,
  type RunnerOptions,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { failureAs, memoryStore, noteTool, noting } from "../run-fixture.ts";

const { note } = noteTool();
const clerk = agent({
  name: "clerk",
  model: scriptedModel([noting("one"), { text: "End." }]),
  tools: { note },
});

/** Rules with a misspelt name, behind the types: as an instance, with a prototype, and from another realm. */
function misspelt(rules: object): readonly (readonly [string, object])[] {
  class Rules {
    constructor() {
      Object.assign(this, rules);
    }
  }
  return [
    ["a plain object", rules],
    ["an instance of a class", new Rules()],
    ["an object with a prototype", Object.create(rules) as object],
    ["an object of another realm", runInNewContext(`(${JSON.stringify(rules)})`) as object],
  ];
}

describe.each([
  [
    "constraints",
    { forbidenActions: ["note"], allowedDomains: ["example.com"] },
    (given: object) => new Runner(clerk, { constraints: given }),
  ],
  [
    "a policy",
    { approv: ["external"], secretKeys: ["pin"] },
    (given: object) => new Runner(clerk, { policy: given }),
  ],
  [
    "an approval rule",
    { match: "note", peeple: 2 },
    (given: object) => new Runner(clerk, { policy: { approve: [given as { match: string }] } }),
  ],
  [
    "the limits of jobs",
    { domain: ["a.example"], models: [] },
    (given: object) => defineConfig({ jobs: given }),
  ],
  [
    "the options of a runner",
    { polcy: { approve: ["external"] }, leaseMs: 30_000 },
    (given: object) => new Runner(clerk, given as RunnerOptions),
  ],
] as const)("a misspelt name in %s", (_, rules, use) => {
  it.each(misspelt(rules))("is refused in %s", (__, given) => {
    expect(() => use(given)).toThrow(ConfigurationError);
    expect(() => use(given)).toThrow(/did you mean/);
  });
});

it("a misspelt budget is refused in an instance of a class", async () => {
  class Small {
    readonly tokens = undefined;
    readonly microDollar = 1;
  }
  const running = new Runner(clerk, { store: await memoryStore() }).run("Go", {
    budget: new Small() as object,
  });
  expect((await failureAs(ConfigurationError, running)).message).toContain("did you mean microDollars?");
});

it("rules that an instance of a class inherits hold, in a worker's loop as well", async () => {
  class Rules {
    get forbiddenActions() {
      return ["note"];
    }
  }
  class Options {
    readonly store;
    readonly checkpoints;
    constructor(store: Awaited<ReturnType<typeof memoryStore>>) {
      this.store = store;
      this.checkpoints = new DatabaseCheckpointStore(store, "worker-1");
    }
    get constraints() {
      return new Rules();
    }
  }
  const store = await memoryStore();
  const { runId } = await new DurableMainLoop(clerk, new Options(store)).execute("Go");
  expect((await store.listToolCalls(runId)).map(({ status }) => status)).toEqual(["cancelled"]);
});

it("a limit of jobs that is inherited is checked", () => {
  const jobs = Object.create({ domains: "not a list" }) as JobCeiling;
  expect(() => defineConfig({ jobs })).toThrow(/jobs\.domains/);
});

it("options, inputs and RunSpecs of another realm are ordinary objects", async () => {
  const store = await memoryStore();
  const options = runInNewContext('({ runId: "r-1", spec: { objective: "Note it." } })') as { runId: string };
  const workspaceRoot = mkdtempSync(join(tmpdir(), "pawl-realm-"));
  onTestFinished(() => rmSync(workspaceRoot, { recursive: true, force: true }));
  const input = runInNewContext("({ order: [7] })") as { order: number[] };
  expect(await new Runner(clerk, { store, workspaceRoot }).run(input, options)).toMatchObject({
    runId: "r-1",
    output: "End.",
  });
});
