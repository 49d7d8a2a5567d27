// A code step that asks for the same effect in other words, after its worker died on its way to ask a person about that.

import { expect, it } from "vitest";
import { Runner, Step } from "../../src/index.ts";
import { lightsOut } from "./call-fixture.ts";
import { failureOf, memoryStore, noteTool } from "./run-fixture.ts";

it("is asked about before it runs, although its row is there already", async () => {
  let later = 0;
  const store = await memoryStore({ now: () => Date.now() + later });
  const { note, done } = noteTool();
  let text = "one";
  const step = Step.run("send", async (_input, ctx) => {
    await ctx.call(note, { text });
    if (text === "one") throw new Error("The lights went out.");
    return "sent";
  });
  await failureOf(new Runner(step, { store }).run("Go", { runId: "r-1" }));
  text = "two";
  await failureOf(new Runner(step, { store, probe: lightsOut("run:before-wait") }).resume("r-1"));
  expect((await store.listToolCalls("r-1")).map(({ status }) => status)).toEqual(["succeeded", "prepared"]);
  later = 60_000;
  expect((await new Runner(step, { store }).resume("r-1")).status).toBe("waiting");
  expect(done).toEqual(["one"]);
  await store.approve("r-1~1");
  expect((await new Runner(step, { store }).resume("r-1")).output).toBe("sent");
  expect(done).toEqual(["one", "two"]);
});
