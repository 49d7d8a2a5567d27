// A code step that repeats an effect with other arguments after its worker died before asking a person about that.

import { expect, it } from "vitest";
import { Runner, type RunnerOptions, Step } from "../../../src/index.ts";
import { crashAt, drainEventLoop, jumpingClock, timedStore } from "../call/call-fixture.ts";
import { failureOf, noteTool } from "../run-fixture.ts";

it("needs approval before it runs, although its row already exists", async () => {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const { note, done } = noteTool();
  let text = "one";
  const step = Step.run("send", async (_input, ctx) => {
    const sent = ctx.call(note, { text });
    // Time passes in which further calls may still be made.
    if (text === "two") void drainEventLoop().then(() => clock.advance(2_000));
    await sent;
    if (text === "one") throw new Error("The process crashed.");
    return "sent";
  });
  const make = (more: RunnerOptions = {}) => new Runner(step, { store, clock, ...more });
  await failureOf(make().run("Go", { runId: "r-1" }));
  text = "two";
  await failureOf(make({ probe: crashAt("run:before-wait") }).resume("r-1"));
  expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual(["succeeded", "prepared"]);
  await clock.advance(60_000);
  expect((await make().resume("r-1")).status).toBe("waiting");
  expect(done).toEqual(["one"]);
  await store.approve("r-1~1");
  expect((await make().resume("r-1")).output).toBe("sent");
  expect(done).toEqual(["one", "two"]);
});
