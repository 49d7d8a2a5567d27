// A run to which everything happens: its workers die, its tools fail and are looked up, people are asked, a lineage is
// abandoned, and nothing is done twice. All parts are real except the clock, the model and the outside world.

import { dirname } from "node:path";
import { onTestFinished } from "vitest";
import { z } from "zod";
import {
  agent,
  type Json,
  NotApplied,
  openStore,
  Pipeline,
  PipelineAbortError,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
  type ToolCallContext,
  tool,
} from "../../src/index.ts";
import { SqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { CrashPoint } from "../../src/testing/index.ts";
import { asking, jumpingClock, openWait } from "../engine/call/call-fixture.ts";
import { databaseFile, failureOf, recordingModel } from "../engine/run-fixture.ts";
import { loudly, said, words } from "../engine/session-fixture.ts";

const RUN = "r-1";
const PRICING = {
  id: "test",
  models: { "scripted-model": { inputPerMillion: 3_000_000, outputPerMillion: 15_000_000 } },
};

const SPEC = {
  objective: "Write a newsletter about ratchets, and send it to Ann.",
  constraints: { forbiddenActions: ["delete_*"] },
  budgets: { maxToolCalls: 50 },
  artifacts: { expectedOutputs: ["newsletter.html"] },
};

/** The outside world: a clock that advances while work is done, the mails sent, and the failures to inject. */
type World = {
  readonly clock: ReturnType<typeof jumpingClock>;
  readonly sent: string[];
  /** Called when this tool is invoked for the n-th time. */
  readonly trouble: Map<string, (n: number) => void>;
};

function worldOf(): World {
  return { clock: jumpingClock(), sent: [], trouble: new Map() };
}

/** The store's owner vanishes like a killed process: its pending writes are lost. */
function killOwner(store: Store): never {
  if (!(store instanceof SqliteStore)) throw new Error("Only a store on SQLite can vanish.");
  void store.vanish();
  throw new Error("Killed.");
}

function toolsOf(world: World) {
  const attempts = new Map<string, number>();
  const work = async (name: string, call: ToolCallContext): Promise<number> => {
    const n = (attempts.get(name) ?? 0) + 1;
    attempts.set(name, n);
    await world.clock.advance(250);
    world.trouble.get(name)?.(n);
    call.session.dispatch(said(`${name}!`));
    return n;
  };
  const look = tool({
    name: "fetch_page",
    description: "Reads a page.",
    inputSchema: z.object({ url: z.string() }),
    effect: "read_only",
    execute: async ({ url }, call) => {
      await work("fetch_page", call);
      return `${url}\n${"A ratchet lets a wheel turn one way only. ".repeat(80)}`;
    },
  });
  const send = tool({
    name: "send_email",
    description: "Sends a mail.",
    inputSchema: z.object({ to: z.string(), subject: z.string() }),
    effect: "external",
    recovery: "reconcile",
    dedupe: "effect",
    execute: async ({ to }, call) => {
      await work("send_email", call);
      world.sent.push(to);
      return { messageId: `m-${world.sent.length}` };
    },
    reconcile: () => ({ status: "done" as const, result: { messageId: "m-found" } }),
  });
  const upload = tool({
    name: "upload",
    description: "Uploads a file.",
    inputSchema: z.object({ file: z.string() }),
    effect: "external",
    recovery: "keyed",
    dedupe: "call",
    execute: async ({ file }, call) => ({ uploaded: file, tries: await work("upload", call) }),
  });
  const pay = tool({
    name: "pay",
    description: "Pays a bill.",
    inputSchema: z.object({ cents: z.number() }),
    effect: "external",
    approval: true,
    execute: async ({ cents }, call) => ({ paid: cents, n: await work("pay", call) }),
  });
  return { fetch_page: look, send_email: send, upload, pay };
}

const SCRIPT = [
  {
    text: "I look first.",
    ...asking(["fetch_page", { url: "http://a.test/" }], ["fetch_page", { url: "http://b.test/" }]),
  },
  asking(["send_email", { to: "ann@example.org", subject: "Ratchets" }]),
  asking(["upload", { file: "report.pdf" }]),
  asking(["pay", { cents: 250 }]),
  asking(["send_email", { to: "ann@example.org", subject: "Ratchets" }]),
  { text: "All done." },
];

export type Eventful = { readonly store: Store; readonly runId: string };

/** The run at its end, in a store opened by a new process. */
export async function eventfulRun(file = databaseFile()): Promise<Eventful> {
  const world = worldOf();
  const tools = toolsOf(world);
  const open = async (): Promise<Store> => {
    const store = await openStore(`file:${file}`, { now: () => world.clock.now() });
    onTestFinished(() => store.close());
    return store;
  };
  const runnerIn = (
    store: Store,
    probe?: RunnerOptions["probe"],
    instructions = "You write a newsletter.",
  ) => {
    const { model } = recordingModel(async ({ turn }) => {
      await world.clock.advance(1_200);
      return SCRIPT[Math.min(turn, SCRIPT.length) - 1] ?? { text: "All done." };
    });
    const writer = agent({ name: "writer", model, instructions, tools });
    const newsletter = Pipeline.of(
      "newsletter",
      Step.granular("research", writer, { blobThresholdBytes: 2_000, phase: "write" }),
      Step.run(
        "deliver",
        async (input: Json, ctx) => {
          await ctx.artifact("newsletter.html", "<h1>Ratchets</h1>\n");
          const uploaded = await ctx.call(tools.upload, { file: "newsletter.html" });
          return { input, uploaded };
        },
        { phase: "send" },
      ),
    );
    return new Runner(newsletter, {
      store,
      clock: world.clock,
      random: () => 0,
      pricing: PRICING,
      slices: [words],
      checkpointTrigger: loudly,
      workspaceRoot: dirname(file),
      ...(probe === undefined ? {} : { probe }),
    });
  };
  const killedAt =
    (store: Store, at: CrashPoint, turn: number) => (point: CrashPoint, site: { turnIndex: number }) => {
      if (point === at && site.turnIndex === turn) killOwner(store);
    };

  // The mail server hangs up after it has accepted the mail; then the machine is switched off during an upload.
  world.trouble.set("send_email", (n) => {
    if (n === 1) throw new Error("Connection reset.");
  });
  const first = await open();
  await failureOf(
    runnerIn(first, killedAt(first, "tool:executed", 3)).run(
      { topic: "ratchets" },
      { runId: RUN, spec: SPEC },
    ),
  );

  // The next process uploads again with the same key, and stops before it pays.
  await world.clock.advance(60_000);
  const second = await open();
  await runnerIn(second).resume(RUN);
  await second.close();

  // Ann approves the payment; the process is killed while it pays.
  await world.clock.advance(5 * 60_000);
  const third = await open();
  await third.approve((await openWait(third)).waitId, { by: "ann" });
  await failureOf(runnerIn(third, killedAt(third, "tool:executed", 4)).resume(RUN));

  // It is unknown whether the payment happened. Ben checks with the bank.
  await world.clock.advance(60_000);
  const fourth = await open();
  await runnerIn(fourth).resume(RUN);
  await fourth.settle(`${RUN}/research#4.1`, { as: "succeeded", result: { paid: 250 } }, { by: "ben" });
  // A bad answer of the provider, and a prompt that was changed since: resume from the last milestone.
  world.trouble.set("upload", (n) => {
    if (n === 3) throw new NotApplied("503 Service Unavailable");
  });
  await failureOf(
    runnerIn(fourth, (point, { turnIndex }) => {
      if (point === "model:before-request" && turnIndex === 6)
        throw new PipelineAbortError("The prompt is no good.");
    }).resume(RUN),
  );
  await runnerIn(fourth, undefined, "You write a short newsletter.").resume(RUN, { from: "milestone" });
  return { store: fourth, runId: RUN };
}
