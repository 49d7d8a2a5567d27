import { expect, it } from "vitest";
import { z } from "zod";
import { NotApplied, Runner, type RunnerOptions, Step, ToolFailedError, tool } from "../../../src/index.ts";
import { failureAs, memoryStore } from "../run-fixture.ts";

/** A step that books two rooms; the second booking fails while the other side is down. */
async function booking(failure: () => Error, more: { dedupe?: "effect"; timeoutMs?: number } = {}) {
  const store = await memoryStore();
  const world = { isDown: true, tried: [] as string[] };
  const book = tool({
    name: "book",
    description: "Books a room.",
    inputSchema: z.object({ room: z.string() }),
    effect: "external",
    ...more,
    execute: ({ room }) => {
      world.tried.push(room);
      if (room === "b" && world.isDown) throw failure();
      return `booked ${room}`;
    },
  });
  const step = Step.run("trip", async (_: string, ctx) => [
    await ctx.call(book, { room: "a" }),
    await ctx.call(book, { room: "b" }),
  ]);
  const runner = (options: RunnerOptions = {}) =>
    new Runner(step, { store, maxRetriesPerToolCall: 0, random: () => 0, ...options });
  return { store, world, runner };
}

it.each(["call", "effect"] as const)(
  "makes a call that certainly failed again when its step is resumed (%s)",
  async (dedupe) => {
    const busy = () => new NotApplied("Down.");
    const { store, world, runner } = await booking(busy, dedupe === "effect" ? { dedupe } : {});
    await failureAs(ToolFailedError, runner().run("Go", { runId: "r-1" }));
    await failureAs(ToolFailedError, runner().resume("r-1"));
    world.isDown = false;
    expect((await runner().resume("r-1")).output).toEqual(["booked a", "booked b"]);
    expect(world.tried).toEqual(["a", "b", "b", "b"]);
    const calls = await store.listToolCalls("r-1");
    expect(calls.map(({ status, occurrence }) => [status, occurrence])).toEqual([
      ["succeeded", 1],
      ["failed", 1],
      ["failed", 2],
      ["succeeded", 3],
    ]);
    expect(new Set(calls.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(4);
    expect((await store.verify("r-1")).problems).toEqual([]);
  },
);

it("asks a person before a call that may have happened is repeated, and continues with the answer", async () => {
  const { store, world, runner } = await booking(() => new Error("The line went dead."));
  await failureAs(ToolFailedError, runner().run("Go", { runId: "r-1" }));
  world.isDown = false;
  const { status, waits } = await runner().resume("r-1");
  expect([status, waits.map(({ kind, toolCallId }) => [kind, toolCallId])]).toEqual([
    "waiting",
    [["possible_duplicate", "r-1/trip#0.3"]],
  ]);
  expect(world.tried).toEqual(["a", "b"]);
  await store.approve("r-1~1");
  expect((await runner().resume("r-1")).output).toEqual(["booked a", "booked b"]);
  expect(world.tried).toEqual(["a", "b", "b"]);
});

it("keeps a denied call denied", async () => {
  const { store, world, runner } = await booking(() => new Error("The line went dead."));
  await failureAs(ToolFailedError, runner().run("Go", { runId: "r-1" }));
  await runner().resume("r-1");
  await store.deny("r-1~1", "There are no rooms.");
  for (let time = 1; time <= 2; time++) {
    const error = await failureAs(ToolFailedError, runner().resume("r-1"));
    expect(error.message).toContain("There are no rooms.");
  }
  expect(world.tried).toEqual(["a", "b"]);
});

it("reuses a failure that the code has caught", async () => {
  const store = await memoryStore();
  const tried: string[] = [];
  let broken = true;
  const look = tool({
    name: "look",
    description: "Looks.",
    inputSchema: z.object({}),
    recovery: "repeat",
    execute: () => {
      tried.push("look");
      throw new Error("Nothing there.");
    },
  });
  const step = Step.run("search", async (_: string, ctx) => {
    const found = await ctx.call(look, {}).catch(() => "nothing");
    if (broken) throw new Error("Later.");
    return found;
  });
  const runner = new Runner(step, { store, maxRetriesPerToolCall: 0 });
  await expect(runner.run("Go", { runId: "r-1" })).rejects.toThrow("Later.");
  broken = false;
  expect((await runner.resume("r-1")).output).toBe("nothing");
  expect(tried).toEqual(["look"]);
});
