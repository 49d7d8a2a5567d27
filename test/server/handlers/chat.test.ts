// The chats of a server: each principal has their own, with the labels of their scope.

import { expect, onTestFinished, test } from "vitest";
import { agent, conversation, Worker } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { memoryStore } from "../../engine/run-fixture.ts";
import { ACME, principal, type ServerWorld, serverWorld } from "./server-world.ts";

const ANN = principal({ scope: ACME });
const IN_TALK = { pipeline: "talk", chatId: "c-1" };

function posted(world: ServerWorld, as = ANN) {
  const message = { id: "u-1", role: "user", parts: [{ type: "text", text: "Hello" }] };
  const body = { id: "c-1", messages: [message], trigger: "submit-message" };
  return world.call("chat", { params: { pipeline: "talk" }, body, as });
}

function work({ store }: ServerWorld): void {
  const stopped = new AbortController();
  const talker = agent({
    name: "talk",
    instructions: "Talk.",
    model: scriptedModel(() => ({ text: "Hello." })),
  });
  const over = new Worker({ store, pipelines: { talk: conversation(talker) } }).run(stopped.signal);
  onTestFinished(async () => {
    stopped.abort();
    await over;
  });
}

test("a chat is a run with the labels of its scope, of the person who began it", async () => {
  const world = serverWorld(await memoryStore());
  work(world);
  const { response } = await posted(world);
  const text = (await response?.text()) ?? "";
  expect(text).toContain("Hello.");
  expect(text).toContain("[DONE]");
  const [run] = await world.store.listRuns({ pipeline: "talk" });
  expect(run).toMatchObject({
    metadata: { tenant: "acme" },
    startedBy: { authenticated: { name: "ann", by: "pawl" } },
  });
  const { response: messages } = await world.call("listChatMessages", { params: IN_TALK, as: ANN });
  expect(await messages?.text()).toContain("Hello.");
});

test("another person of the same scope has chats of their own", async () => {
  const world = serverWorld(await memoryStore());
  await (await posted(world)).response?.body?.cancel();
  const ben = principal({ name: "ben", id: "token-2", scope: ACME });
  expect((await world.answer("listChatMessages", { params: IN_TALK, as: ben })).status).toBe(404);
});

test("a pipeline that is no conversation has no chats", async () => {
  const world = serverWorld(await memoryStore());
  await expect(
    world.call("listChatMessages", { params: { pipeline: "clerk", chatId: "c-1" } }),
  ).rejects.toMatchObject({ status: 404, code: "conversation_not_found" });
});

test("an answer that is being streamed breaks when the server stops, and does not end", async () => {
  const world = serverWorld(await memoryStore());
  const { response } = await posted(world);
  const text = response?.text();
  world.closing.abort(new Error("The server stops."));
  await expect(text).rejects.toThrow("The server stops.");
});
