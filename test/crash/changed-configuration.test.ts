import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../../src/index.ts";
import { sampled } from "../full-test.ts";
import { CrashFolder, crashFolder } from "./harness/crash-folder.ts";
import type { Act, Variant } from "./harness/worker-order.ts";

const INPUT = { place: "town", stops: { first: 1, second: 2 } };
const RUN: Act = { do: "run", input: INPUT, runId: "errands-1" };
const RESUME: Act = { do: "resume", runId: "errands-1" };

/** Killed with a journaled answer whose tools have not run: the next process calls a tool and then the model. */
let dead: CrashFolder;

beforeAll(async () => {
  dead = CrashFolder.make();
  await dead.killed({ scenario: "errands", act: RUN, crash: { point: "turn:journaled", turn: 2 } });
});

afterAll(() => dead.remove());

type Changed = {
  readonly changed: string;
  readonly variant: Variant;
  readonly what: string;
  readonly was: Json;
  readonly is: Json;
};

const HASH = "a hash";

const CHANGES: readonly Changed[] = [
  {
    changed: "the model",
    variant: { modelId: "other-model" },
    what: "model",
    was: "errand-model",
    is: "other-model",
  },
  {
    changed: "the provider",
    variant: { provider: "other-provider" },
    what: "provider",
    was: "scripted",
    is: "other-provider",
  },
  {
    changed: "the prompt",
    variant: { instructions: "Run the errands, fast." },
    what: "prompt",
    was: "Run the errands.",
    is: "Run the errands, fast.",
  },
  {
    changed: "a tool's schema",
    variant: { payTakesCurrency: true },
    what: "tools.local:pay",
    was: HASH,
    is: HASH,
  },
  {
    changed: "a tool's description",
    variant: { payDescription: "Pay for an order, or not." },
    what: "tools.local:pay",
    was: HASH,
    is: HASH,
  },
  {
    changed: "the tools, by one more",
    variant: { tools: "one more" },
    what: "tools.local:more",
    was: null,
    is: HASH,
  },
  {
    changed: "the tools, by one less",
    variant: { tools: "one less" },
    what: "tools.local:look",
    was: HASH,
    is: null,
  },
  {
    changed: "the temperature",
    variant: { settings: { temperature: 0.5 } },
    what: "settings.temperature",
    was: 0,
    is: 0.5,
  },
  {
    changed: "maxOutputTokens",
    variant: { settings: { maxOutputTokens: 300 } },
    what: "settings.maxOutputTokens",
    was: 200,
    is: 300,
  },
  {
    changed: "the seed",
    variant: { settings: { seed: 8 } },
    what: "settings.seed",
    was: 7,
    is: 8,
  },
  {
    changed: "the input of the step",
    variant: { step: { input: { ...INPUT, place: "village" } } },
    what: "input.place",
    was: "town",
    is: "village",
  },
  {
    changed: "the pricing plan",
    variant: { pricing: { id: "plan-b", models: {} } },
    what: "pricingPlan",
    was: "unpriced",
    is: "plan-b",
  },
  {
    changed: "historyMaxTokens",
    variant: { step: { historyMaxTokens: 64_000 } },
    what: "switches.historyMaxTokens",
    was: 128_000,
    is: 64_000,
  },
  {
    changed: "blobThresholdBytes",
    variant: { step: { blobThresholdBytes: 10_000 } },
    what: "switches.blobThresholdBytes",
    was: 20_000,
    is: 10_000,
  },
  {
    changed: "enforceIdempotency",
    variant: { step: { enforceIdempotency: true }, lookRecovery: "repeat" },
    what: "switches.enforceIdempotency",
    was: false,
    is: true,
  },
  {
    changed: "what counts as done",
    variant: { completion: "signal" },
    what: "switches.completion",
    was: "auto",
    is: "signal",
  },
];

describe("a process with another configuration", () => {
  test.for(sampled(CHANGES, 3))(
    "is stopped before any call: $changed",
    async ({ variant, what, was, is }) => {
      const folder = dead.copy();
      const before = folder.witness();
      const error = await folder.error({ scenario: "errands", act: RESUME, variant });

      expect(error).toMatchObject({ name: "ResumeError", irrecoverable: true });
      expect(error.details.changes).toEqual([{ what, was: orHash(was), is: orHash(is) }]);
      expect(error.message).toContain(`${what}: `);
      for (const value of [was, is])
        expect(error.message).toMatch(
          value === HASH ? /[0-9a-f]{64}/ : value === null ? "(absent)" : JSON.stringify(value),
        );
      expect(error.message).toContain("No call was made");
      expect(folder.witness()).toEqual(before);
      expect(folder.outside()).toEqual(dead.outside());

      // With the original configuration the run resumes, and the refused attempt has cost nothing.
      const result = await folder.result({ scenario: "errands", act: RESUME });
      expect(result.status).toBe("succeeded");
      assertEverythingOnce(folder);
    },
  );

  test("gets all changes in one error", async () => {
    const folder = dead.copy();
    const variant: Variant = { modelId: "other-model", settings: { seed: 8 }, tools: "one more" };
    const error = await folder.error({ scenario: "errands", act: RESUME, variant });
    expect(error.message).toContain('model: "errand-model" → "other-model"');
    expect(error.message).toContain("settings.seed: 7 → 8");
    expect(error.message).toContain("tools.local:more: (absent) → ");
  });

  test("is also stopped at the next turn, if there is no journaled answer", async () => {
    const folder = crashFolder();
    await folder.killed({ scenario: "errands", act: RUN, crash: { point: "turn:committed", turn: 2 } });
    const before = folder.witness();
    const error = await folder.error({
      scenario: "errands",
      act: RESUME,
      variant: { modelId: "other-model" },
    });
    expect(error).toMatchObject({ name: "ResumeError", irrecoverable: true });
    expect(folder.witness()).toEqual(before);
  });

  test("is stopped even if every turn was committed and only the end is missing", async () => {
    const folder = crashFolder();
    await folder.killed({ scenario: "errands", act: RUN, crash: { point: "turn:committed", turn: 5 } });
    const before = folder.witness();
    const error = await folder.error({ scenario: "errands", act: RESUME, variant: { outputSchema: true } });
    expect(error).toMatchObject({ name: "ResumeError", irrecoverable: true });
    expect(error.message).toContain("switches.outputSchema: (absent) → ");
    expect(folder.witness()).toEqual(before);
    expect((await folder.result({ scenario: "errands", act: RESUME })).output).toContain("Done with");
    assertEverythingOnce(folder);
  });

  test("is not stopped if the run had not made its first call", async () => {
    const folder = crashFolder();
    await folder.killed({ scenario: "errands", act: RUN, crash: { point: "step:begun" } });
    const result = await folder.result({
      scenario: "errands",
      act: RESUME,
      variant: { modelId: "other-model" },
    });
    expect(result.status).toBe("succeeded");
    assertEverythingOnce(folder);
  });
});

describe("a process with another input", () => {
  test("under the id of the dead run is refused, and the run stays unchanged", async () => {
    const folder = dead.copy();
    const before = folder.witness();
    const act: Act = { do: "run", input: { ...INPUT, place: "village" }, runId: "errands-1" };
    const error = await folder.error({ scenario: "errands", act });
    expect(error.name).toBe("ResumeError");
    expect(error.message).toContain("errands-1 was started with other input");
    expect(folder.witness()).toEqual(before);
    const run = await folder.withStore((store) => store.getRun("errands-1"));
    expect(run).toMatchObject({ status: "running", epoch: 1 });
  });

  test("with a number in place of a text is refused", async () => {
    const folder = dead.copy();
    const act: Act = {
      do: "run",
      input: { place: "town", stops: { first: "1", second: 2 } },
      runId: "errands-1",
    };
    expect((await folder.error({ scenario: "errands", act })).name).toBe("ResumeError");
  });
});

describe("a process with a harmless change", () => {
  const harmless: readonly { what: string; act: Act; variant: Variant }[] = [
    {
      what: "the order of the keys in its input",
      act: { do: "run", input: { stops: { second: 2, first: 1 }, place: "town" }, runId: "errands-1" },
      variant: {},
    },
    {
      what: "the order of the keys in the input, without an id",
      act: { do: "run", input: { stops: { second: 2, first: 1 }, place: "town" } },
      variant: {},
    },
    {
      what: "the order of the keys in the step's own input",
      act: RESUME,
      variant: { step: { input: { stops: { second: 2, first: 1 }, place: "town" } } },
    },
    { what: "the order of its tools", act: RESUME, variant: { tools: "other order" } },
    { what: "a higher maxTurns", act: RESUME, variant: { step: { maxTurns: 50 } } },
    { what: "another recovery class", act: RESUME, variant: { lookRecovery: "keyed" } },
    { what: "degradedReplay", act: RESUME, variant: { step: { degradedReplay: true } } },
  ];

  test.for(sampled(harmless))("resumes the run: $what", async ({ act, variant }) => {
    const folder = dead.copy();
    const result = await folder.result({ scenario: "errands", act, variant });
    expect(result).toMatchObject({ runId: "errands-1", status: "succeeded", resumed: true });
    assertEverythingOnce(folder);
  });
});

function assertEverythingOnce(folder: CrashFolder): void {
  expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5]);
  expect(folder.tries("pay")).toBe(4);
  expect(folder.effects("look")).toBe(4);
  expect(folder.outside()).toHaveLength(4);
}

function orHash(value: Json): unknown {
  return value === HASH ? expect.stringMatching(/^[0-9a-f]{64}$/) : value;
}
