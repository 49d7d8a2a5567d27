// Agents that wait: the tools wait_until and wait_for.

import { describe, expect, it } from "vitest";
import { agent, ConfigurationError, type Json, Runner, receiveTool, sleepTool } from "../../../src/index.ts";
import type { Script } from "../../../src/testing/index.ts";
import { noteTool, recordingModel, toolResults } from "../run-fixture.ts";
import { jumpingClock, timedStore } from "./call-fixture.ts";

type Call = { readonly name: string; readonly input: Json };

/** An agent that makes these calls in its first turn, and then is done. */
async function agentThatCalls(...calls: readonly Call[]) {
  const clock = jumpingClock();
  const store = await timedStore(clock);
  const script = [{ toolCalls: [...calls] }, { text: "Done." }] as Script;
  const { model, prompts } = recordingModel(script);
  const { note, done } = noteTool();
  const tools = {
    note,
    wait_until: sleepTool,
    wait_for: receiveTool({ events: ["payment.*", "cancelled"], timeoutMs: 60_000 }),
  };
  const make = () => new Runner(agent({ name: "worker", model, tools }), { store, clock });
  return { store, clock, make, done, results: () => toolResults(prompts.at(-1)) };
}

const until = (input: Json): Call => ({ name: "wait_until", input });
const waitFor = (input: Json): Call => ({ name: "wait_for", input });

describe("wait_until", () => {
  it("waits for some seconds, beside other calls of its turn", async () => {
    const { clock, make, done, results } = await agentThatCalls(until({ seconds: 90 }), {
      name: "note",
      input: { text: "a" },
    });
    const { waits } = await make().run("Go", { runId: "r-1" });
    expect(waits).toMatchObject([
      { kind: "time", dueAt: clock.now() + 90_000, question: "It waits for 90 seconds." },
    ]);
    const at = new Date(clock.now() + 90_000).toISOString();
    await clock.advance(90_000);
    expect((await make().resume("r-1")).output).toBe("Done.");
    expect(done).toEqual(["a"]);
    expect(results()).toMatchObject([{ value: { until: at } }, { value: { noted: "a" } }]);
  });

  it("waits until a time", async () => {
    const { make } = await agentThatCalls(until({ until: "2099-11-18T08:00:00+01:00" }));
    const { waits } = await make().run("Go", { runId: "r-1" });
    expect(waits).toMatchObject([
      { dueAt: Date.parse("2099-11-18T07:00:00Z"), question: "It waits until 2099-11-18T07:00:00.000Z." },
    ]);
  });

  it.each([
    [{}, "Give exactly one of until and seconds."],
    [{ until: "2099-11-18T08:00:00Z", seconds: 5 }, "Give exactly one of until and seconds."],
    [{ until: "tomorrow at 8" }, "Give until as a date-time with an offset"],
    [{ until: "2099-11-18T08:00:00" }, "Give until as a date-time with an offset"],
  ])("gives the model a sentence for %j", async (input, text) => {
    const { make, results } = await agentThatCalls(until(input));
    expect((await make().run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect(JSON.stringify(results())).toMatch(text);
  });
});

describe("wait_for", () => {
  it("returns the message, and a timeout as a result", async () => {
    const { store, clock, make, results } = await agentThatCalls(
      waitFor({ event: "payment.confirmed" }),
      waitFor({ event: "cancelled", timeoutSeconds: 5 }),
    );
    const { waits } = await make().run("Go", { runId: "r-1" });
    expect(waits.map(({ dueAt }) => (dueAt ?? 0) - clock.now())).toEqual([60_000, 5_000]);
    const at = new Date(clock.now()).toISOString();
    await store.sendMessage("r-1", { id: "m-1", event: "payment.confirmed", body: 7, by: { by: "bank" } });
    await clock.advance(5_000);
    expect((await make().resume("r-1")).output).toBe("Done.");
    expect(results()).toMatchObject([
      { value: { event: "payment.confirmed", data: 7, by: "bank", at } },
      { value: { timedOut: true } },
    ]);
  });

  it("never waits for longer than its tool allows", async () => {
    const { clock, make } = await agentThatCalls(waitFor({ event: "cancelled", timeoutSeconds: 500 }));
    const { waits } = await make().run("Go", { runId: "r-1" });
    expect(waits).toMatchObject([{ dueAt: clock.now() + 60_000 }]);
  });

  it.each(["secret.event", "*", "pay*", ""])("tells the model that it may not wait for %j", async (event) => {
    const { make, results } = await agentThatCalls(waitFor({ event }));
    expect((await make().run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect(JSON.stringify(results())).toMatch(
      "is no event to wait for here: wait for one of payment.*, cancelled.",
    );
  });

  it("may wait for a narrower pattern than its tool has", async () => {
    const { make } = await agentThatCalls(waitFor({ event: "payment.card.*" }));
    expect((await make().run("Go", { runId: "r-1" })).waits).toMatchObject([{ matches: "payment.card.*" }]);
  });

  it("is refused with a sentence if it is made without events", () => {
    const mistakes: readonly [unknown, string][] = [
      [{}, 'receiveTool({ … }) needs events: give a list such as ["payment.*"].'],
      [{ events: ["no blanks"] }, 'receiveTool({ … }): It waits for "no blanks"'],
      [{ events: ["a"], timeout: 5 }, 'receiveTool({ … }) has no "timeout": did you mean timeoutMs?'],
      [{ events: ["a"], timeoutMs: -5 }, "receiveTool({ … }) has timeoutMs -5"],
    ];
    for (const [options, text] of mistakes) {
      const make = () => receiveTool(options as { events: string[] });
      expect(make).toThrow(ConfigurationError);
      expect(make).toThrow(text);
    }
  });
});
