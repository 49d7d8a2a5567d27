// A conversation in a pipe that another process answers while this one begins to watch it.

import { Readable } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import type { ChatWork } from "../../../src/cli/chat/chat-run.ts";
import { chatInPipe } from "../../../src/cli/chat/piped-chat.ts";
import { CommandInput } from "../../../src/cli/context/command.ts";
import { agent, conversation, openStore, Runner, type RunRecord, type Store } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/scripted-model.ts";
import { recordingContext } from "../recording-context.ts";

/** A store with a conversation whose first message was answered, and what was found while it was. */
async function answered() {
  const store = await openStore(":memory:");
  onTestFinished(() => store.close());
  let found: RunRecord | null = null;
  const model = scriptedModel(async () => {
    found ??= await store.getRun("c-1");
    return { text: "Hello." };
  });
  const pipeline = conversation(agent({ name: "clerk", model, instructions: "Help." }));
  const runner = new Runner(pipeline, { store });
  await runner.send("c-1", "one", { orStart: {} });
  await runner.resume("c-1");
  return { store, runner, found: found as RunRecord | null };
}

/** The lines go to a worker, through this store. */
async function piped(work: Pick<ChatWork, "store" | "found">, lines: readonly string[]) {
  const { context, stdout } = recordingContext();
  const stdin = { isTerminal: false, stream: Readable.from(lines.map((line) => `${line}\n`)) };
  const { exitCode } = await chatInPipe({
    ...work,
    context: { ...context, stdin },
    input: new CommandInput(new Map(), new Map()),
    loaded: { path: null, config: {} },
    pipeline: null,
    isJob: false,
    runId: "c-1",
    person: { by: "ann" },
    sendOnly: true,
  });
  return { exitCode, stdout: stdout() };
}

/** A store with another `sendMessage`. */
function sendingWith(store: Store, sendMessage: Store["sendMessage"]): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === "sendMessage") return sendMessage;
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
  const fast = sendingWith(store, async (...message) => {
    const receipt = await store.sendMessage(...message);
    await runner.resume("c-1");
    return receipt;
  });
  const found = await store.getRun("c-1");
  expect(await piped({ store: fast, found }, ["two", "three"])).toEqual({
    exitCode: 0,
    stdout: "Hello.\nHello.\n",
  });
});
