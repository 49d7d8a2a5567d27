// A duplicate whose arguments are not those of the first call is never silent: an operator gets a warning, the model sees
// that the call did not run, and the ledger records it. Code gets the plain first result.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type Json,
  type RunEvent,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
  type ToolDefinition,
  tool,
} from "../../../src/index.ts";
import type { CrashPoint } from "../../../src/testing/index.ts";
import { collect, failureOf, memoryStore, toolResults } from "../run-fixture.ts";
import { asking, crashAt, runnerOf } from "./call-fixture.ts";

type Input = Record<string, Json>;
type Options = Partial<ToolDefinition<Input, unknown>> & { readonly result?: () => unknown };

const ANN = { to: "ann@example.org", subject: "Offer" };
const HI = { ...ANN, body: "Hi" };
const DEAR = { ...ANN, body: "Dear Ann, our offer has changed." };
const NOTE =
  "[This call did not run: an earlier call with other arguments counts as the same effect. Below is the result of that earlier call.]";

/** A tool that records what it sends. */
function sender(name: string, { result = () => "sent", ...options }: Options = {}) {
  const sent: Json[] = [];
  const send = tool({
    name,
    description: "Sends.",
    inputSchema: z.record(z.string(), z.json()),
    effect: "external",
    ...options,
    execute: (input: Input) => {
      sent.push(input);
      return result();
    },
  });
  return { send, sent };
}

/** One turn for each list of inputs. */
async function sending(name: string, turns: readonly (readonly Json[])[], options: Options = {}) {
  const store = await memoryStore();
  const { send, sent } = sender(name, options);
  const answers = turns.map((inputs) => asking(...inputs.map((input) => [name, input] as const)));
  const { runner, prompts } = runnerOf(store, { [name]: send }, answers);
  const events = await collect(runner.stream("Go", { runId: "r-1" }));
  return { store, sent, warnings: warningsIn(events), seen: toolResults(prompts.at(-1)) };
}

function warningsIn(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === "warning" ? [event.message] : []));
}

async function codes(store: Store) {
  return (await store.listToolCalls("r-1")).map(({ receipt }) => receipt?.errorCode ?? null);
}

describe("a duplicate whose arguments are the same after its schema", () => {
  const withDefault = z.object({
    to: z.string().trim(),
    subject: z.string(),
    body: z.string().default("Hi"),
  });
  const inputSchema = withDefault as unknown as z.ZodType<Input>;

  it.each<[string, readonly (readonly Json[])[]]>([
    ["in another turn", [[ANN], [HI]]],
    ["in the same turn", [[ANN, HI, { ...HI, to: " ann@example.org " }]]],
    ["after others", [[HI], [{ ...ANN, to: "ann@example.org " }], [ANN]]],
  ])("is not reported as a different one, %s", async (_, turns) => {
    const identity = ({ subject }: Input) => subject ?? null;
    const { sent, warnings, store } = await sending("send_mail", turns, { inputSchema, identity });
    expect([sent, warnings]).toEqual([[HI], []]);
    expect(new Set(await codes(store))).toEqual(new Set([null]));
  });

  it("is not reported in a code step either, and other arguments are", async () => {
    const store = await memoryStore();
    const { send, sent } = sender("send_mail", { inputSchema, identity: () => 1 });
    const steps = Step.run("send", async (_: Json, ctx) => {
      for (const input of [ANN, HI, DEAR]) await ctx.call(send, input);
    });
    const events = await collect(new Runner(steps, { store }).stream("Go", { runId: "r-1" }));
    expect(sent).toEqual([HI]);
    expect(await codes(store)).toEqual([null, null, "other_arguments"]);
    expect(warningsIn(events)).toEqual([expect.stringContaining("(body)")]);
  });

  it("is compared as it is if its schema makes something that is not JSON", async () => {
    const dated = z.object({ to: z.string(), at: z.string().transform((text) => new Map([[text, 1n]])) });
    const { warnings } = await sending("send_mail", [[{ to: "a", at: "1" }], [{ to: "a", at: "2" }]], {
      inputSchema: dated as unknown as z.ZodType<Input>,
      identity: () => 1,
    });
    expect(warnings).toEqual([expect.stringContaining("(at)")]);
  });
});

describe("a duplicate with other arguments", () => {
  it("is a warning that names both calls, the arguments, the built-in rule and the remedy", async () => {
    const { sent, warnings, store } = await sending("send_mail", [[HI], [DEAR]]);
    expect(sent).toEqual([HI]);
    expect(warnings).toEqual([
      'r-1/worker#2.1 (send_mail) did not run: r-1/worker#1.1 ran and counts as the same effect, although their arguments differ (body): by its name it sends mail, and mails are compared by recipients, subject and attachments. To run both, declare on the tool `dedupe: "call"`, or an `identity` that contains what differs.',
    ]);
    expect(await codes(store)).toEqual([null, "other_arguments"]);
  });

  it("shows the model that it did not run, and the first result", async () => {
    const { seen, store } = await sending("send_mail", [[HI], [DEAR]]);
    expect(seen).toEqual([
      { type: "text", value: "sent" },
      { type: "text", value: `${NOTE}\n\nsent` },
    ]);
    const [, second] = await store.listToolCalls("r-1");
    expect(second?.receipt?.output).toEqual({ type: "text", value: "sent" });
    const history = (await store.readGranularState("r-1", "worker"))?.history ?? [];
    expect(JSON.stringify(history)).toContain(JSON.stringify(`${NOTE}\n\nsent`));
  });

  it.each<[string, () => unknown, Json]>([
    ["a JSON value", () => ({ id: 1 }), { type: "text", value: `${NOTE}\n\n{"id":1}` }],
    ["a large text", () => "x".repeat(50_000), { type: "text", value: `${NOTE}\n\n${"x".repeat(50_000)}` }],
  ])("shows the note before %s", async (_what, result, expected) => {
    const { seen } = await sending("send_mail", [[HI], [DEAR]], { result });
    expect(seen[1]).toEqual(expected);
  });

  it("counts the note as tokens of the result", async () => {
    const { store } = await sending("send_mail", [[HI], [DEAR]]);
    const [first, second] = (await store.listToolCalls("r-1")).map(({ receipt }) => receipt?.tokens ?? 0);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(20);
  });

  it("names a declared `identity` as the reason", async () => {
    const identity = ({ to }: Input) => to ?? null;
    const { warnings, seen } = await sending("act", [[HI], [{ to: HI.to, mail: 1 }]], { identity });
    expect(warnings).toMatchObject([
      expect.stringContaining("differ (body, mail, subject): the tool's `identity` leaves that out."),
    ]);
    expect(seen[1]).toMatchObject({ value: expect.stringContaining(NOTE) });
  });

  it("names the ids that never count as the reason", async () => {
    const turns = [[{ job: 1, requestId: "a" }], [{ job: 1, requestId: "b" }]];
    const { warnings } = await sending("act", turns, { dedupe: "effect" });
    expect(warnings).toMatchObject([expect.stringMatching(/\(requestId\): idempotency keys, request ids/)]);
  });

  it("is compared with the call that ran, also within one turn and after another duplicate", async () => {
    const inOne = await sending("send_mail", [[HI, DEAR, HI, DEAR]]);
    expect(await codes(inOne.store)).toEqual([null, "other_arguments", null, "other_arguments"]);
    const inSeveral = await sending("send_mail", [[HI], [DEAR, DEAR], [DEAR], [HI]]);
    const other = "other_arguments";
    expect(await codes(inSeveral.store)).toEqual([null, other, other, other, null]);
    expect(inSeveral.warnings).toHaveLength(3);
    for (const warning of inSeveral.warnings) expect(warning).toContain("r-1/worker#1.1 ran");
    expect(inSeveral.seen.at(-1)).toEqual({ type: "text", value: "sent" });
  });

  it("shows no value of an argument in the warning", async () => {
    const { warnings } = await sending("send_mail", [[HI], [DEAR]]);
    expect(warnings.join()).not.toMatch(/Dear|ann@/);
  });
});

describe("nothing is said", () => {
  it.each<[string, string, readonly Json[], Options]>([
    [
      "about a duplicate with the same arguments, in any order",
      "send_mail",
      [HI, { body: "Hi", ...ANN }],
      {},
    ],
    ["about calls that both ran", "notify_customer", [HI, DEAR], {}],
    ['about a mail tool with dedupe "call"', "send_mail", [HI, DEAR], { dedupe: "call" }],
  ])("%s", async (_what, name, inputs, options) => {
    const { warnings, seen, store } = await sending(
      name,
      inputs.map((input) => [input]),
      options,
    );
    expect(warnings).toEqual([]);
    expect(seen).toEqual(inputs.map(() => ({ type: "text", value: "sent" })));
    expect(await codes(store)).toEqual([null, null]);
  });
});

describe("code that makes a duplicate call with other arguments", () => {
  it("gets the plain first result, and the warning is emitted", async () => {
    const store = await memoryStore();
    const { send, sent } = sender("send_mail", { result: () => ({ id: 1 }) });
    const step = Step.run("code", async (_input, ctx) => [
      await ctx.call(send, HI),
      await ctx.call(send, DEAR),
    ]);
    const events: RunEvent[] = [];
    const onEvent = (event: RunEvent) => void events.push(event);
    const { output } = await new Runner(step, { store, onEvent }).run("Go", { runId: "r-1" });
    expect(output).toEqual([{ id: 1 }, { id: 1 }]);
    expect(sent).toEqual([HI]);
    expect(warningsIn(events)).toMatchObject([
      expect.stringMatching(/^r-1\/code#0\.2 \(send_mail\) did not run: r-1\/code#0\.1 ran/),
    ]);
  });
});

describe("after a crash", () => {
  const TURNS = [
    asking(["send_mail", HI]),
    asking(["send_mail", DEAR], ["send_mail", HI]),
    asking(["wait", {}]),
  ];

  async function run(store: Store, options: RunnerOptions = {}) {
    const wait = sender("wait", { effect: "read_only" }).send;
    const { send } = sender("send_mail", { result: () => ({ id: 1 }) });
    return runnerOf(store, { send_mail: send, wait }, TURNS, options);
  }

  it.each<[CrashPoint, number]>([
    ["turn:journaled", 2],
    ["turn:before-commit", 2],
    ["turn:committed", 2],
    ["turn:journaled", 3],
    ["turn:committed", 3],
  ])("at %s (%d) the model sees the same bytes", async (point, nth) => {
    const undisturbed = await run(await memoryStore());
    await undisturbed.runner.run("Go", { runId: "r-1" });
    const store = await memoryStore();
    const first = await run(store, { probe: crashAt(point, nth) });
    await failureOf(first.runner.run("Go", { runId: "r-1" }));
    const second = await run(store);
    await second.runner.resume("r-1");
    const expected = toolResults(undisturbed.prompts.at(-1));
    expect(JSON.stringify(expected)).toContain("This call did not run");
    expect(JSON.stringify(toolResults(second.prompts.at(-1)))).toBe(JSON.stringify(expected));
    expect(await codes(store)).toEqual([null, "other_arguments", null, null]);
  });
});
