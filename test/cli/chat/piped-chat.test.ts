// A conversation in a pipe that another process answers while this one begins to watch it.

import { Readable } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ChatWork } from "../../../src/cli/chat/chat-run.ts";
import { chatInPipe } from "../../../src/cli/chat/piped-chat.ts";
import { CommandInput } from "../../../src/cli/context/command.ts";
import {
  agent,
  type CompactionOptions,
  conversation,
  openStore,
  Runner,
  type RunRecord,
  type Store,
  sleepTool,
} from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { type Recording, recordingContext } from "../recording-context.ts";

/** A store with a conversation whose first message was answered, and what was found while it was. */
async function answered(compaction?: CompactionOptions) {
  const store = await openStore(":memory:");
  onTestFinished(() => store.close());
  let found: RunRecord | null = null;
  const model = scriptedModel(async ({ options: { prompt } }) => {
    found ??= await store.getRun("c-1");
    const sleeps = JSON.stringify(prompt.at(-1)).includes("Take your time.");
    return sleeps ? { toolCalls: [{ name: "wait_until", input: { seconds: 0.1 } }] } : { text: "Hello." };
  });
  const tools = { wait_until: sleepTool };
  const clerk = agent({ name: "clerk", model, instructions: "Help.", tools });
  const pipeline = conversation(clerk, compaction === undefined ? {} : { compaction });
  const runner = new Runner(pipeline, { store });
  await runner.send("c-1", "one", { orStart: {} });
  await runner.resume("c-1");
  return { store, runner, pipeline, found: found as RunRecord | null };
}

/** The lines go to a worker, through this store, unless the work says otherwise. */
async function piped(
  work: Pick<ChatWork, "store" | "found"> & Partial<ChatWork>,
  lines: readonly string[],
  { context, stdout }: Recording = recordingContext(),
) {
  const stdin = { isTerminal: false, stream: Readable.from(lines.map((line) => `${line}\n`)) };
  const { exitCode } = await chatInPipe({
    context: { ...context, stdin },
    input: new CommandInput(new Map(), new Map()),
    loaded: { path: null, config: {} },
    pipeline: null,
    isJob: false,
    runId: "c-1",
    person: { by: "ann" },
    sendOnly: true,
    ...work,
  });
  return { exitCode, stdout: stdout() };
}

/** A store of which some methods are others. */
function storeWith(store: Store, others: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (Object.hasOwn(others, name)) return Reflect.get(others, name) as unknown;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

it("ends where the answer that was being written when the run was found is there before it is watched", async () => {
  const { store, found } = await answered();
  expect(found?.status).toBe("running");
  expect(await piped({ store, found }, [])).toEqual({ exitCode: 0, stdout: "" });
});

it("prints the answer of a worker that was faster than the end of the sending", async () => {
  const { store, runner } = await answered();
  const sendMessage: Store["sendMessage"] = async (...message) => {
    const receipt = await store.sendMessage(...message);
    await runner.resume("c-1");
    return receipt;
  };
  const fast = storeWith(store, { sendMessage });
  const found = await store.getRun("c-1");
  expect(await piped({ store: fast, found }, ["two", "three"])).toEqual({
    exitCode: 0,
    stdout: "Hello.\nHello.\n",
  });
});

it("wakes the run when a sleep is over, and writes nothing to one that does not sleep", async () => {
  const { store, pipeline } = await answered();
  const clocks: unknown[] = [];
  const wakeRun: Store["wakeRun"] = async (runId) => {
    const { wakeAt = null } = (await store.getRun(runId)) ?? {};
    clocks.push(wakeAt === null ? "none" : "has one");
    return store.wakeRun(runId);
  };
  const found = await store.getRun("c-1");
  const work = { store: storeWith(store, { wakeRun }), found, pipeline, sendOnly: false };
  expect(await piped(work, ["two", "Take your time."])).toEqual({ exitCode: 0, stdout: "Hello.\nHello.\n" });
  expect(new Set(clocks)).toEqual(new Set(["has one"]));
});

it("reads only the open waits of a run, which may have thousands of others", async () => {
  const { store } = await answered();
  const ranges: unknown[] = [];
  const listWaits: Store["listWaits"] = (runId, range) => {
    ranges.push(range);
    return store.listWaits(runId, range);
  };
  await piped({ store: storeWith(store, { listWaits }), found: await store.getRun("c-1") }, []);
  expect(ranges).toEqual([{ open: true }]);
});

describe("Ctrl-C while no exchange is open", () => {
  it("leaves at once where no worker has taken the text", async () => {
    const { store } = await answered();
    const recording = recordingContext();
    const sendMessage: Store["sendMessage"] = async (...message) => {
      const receipt = await store.sendMessage(...message);
      setImmediate(() => recording.interrupt());
      return receipt;
    };
    const interrupting = storeWith(store, { sendMessage });
    const found = await store.getRun("c-1");
    expect(await piped({ store: interrupting, found }, ["two", "three"], recording)).toEqual({
      exitCode: 130,
      stdout: "",
    });
    expect((await store.listMessages("c-1")).map(({ body }) => body)).toEqual(["one", "two"]);
  });

  it("leaves after the summary that is being written, and the answer is for the next process", async () => {
    const recording = recordingContext();
    const released = Promise.withResolvers<void>();
    const { store, pipeline } = await answered({
      atTokens: 1,
      summarize: async () => {
        recording.interrupt();
        await released.promise;
        return "Sum.";
      },
    });
    const found = await store.getRun("c-1");
    const requestStop: Store["requestStop"] = async (...stop) => {
      const outcome = await store.requestStop(...stop);
      setImmediate(released.resolve);
      return outcome;
    };
    const work = { store: storeWith(store, { requestStop }), found, pipeline, sendOnly: false };
    expect(await piped(work, ["two"], recording)).toEqual({ exitCode: 130, stdout: "" });
    expect(await piped({ ...work, found: await store.getRun("c-1") }, [])).toEqual({
      exitCode: 0,
      stdout: "Hello.\n",
    });
  });
});
