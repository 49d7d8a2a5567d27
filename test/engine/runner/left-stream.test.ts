// A reader that leaves the stream of a run: the run continues to its end.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  openStore,
  type RunEvent,
  Runner,
  type RunnerOptions,
  Step,
  type Store,
} from "../../../src/index.ts";
import { failureOf, memoryStore, noteTool, noting, scriptedAgent } from "../run-fixture.ts";

afterEach(() => void vi.restoreAllMocks());

/** A run of two notes, of which the second waits for `finish`. */
function notes(options: RunnerOptions) {
  const gate = Promise.withResolvers<void>();
  const { note, done } = noteTool(async (what) => {
    if (what === "two") await gate.promise;
    return "noted";
  });
  const script = [noting("one"), noting("two"), { text: "Hello" }];
  const { agent } = scriptedAgent(script, { tools: { note } });
  return { runner: new Runner(agent, options), done, finish: gate.resolve };
}

/** Reads up to the first commit, and leaves. */
async function leaveEarly(runner: Runner): Promise<void> {
  for await (const { type } of runner.stream("Go", { runId: "r-1" })) if (type === "turn.committed") break;
}

const statusOf = async (store: Store) => (await store.getRun("r-1"))?.status;

describe("a run whose reader has left", () => {
  it("continues to its end, and leaving does not wait for that", async () => {
    const store = await memoryStore();
    const { runner, done, finish } = notes({ store });
    await leaveEarly(runner);
    expect(await statusOf(store)).toBe("running");
    finish();
    await vi.waitFor(async () => expect(await statusOf(store)).toBe("succeeded"));
    expect(done).toEqual(["one", "two"]);
    expect((await runner.run("Go", { runId: "r-1" })).output).toBe("Hello");
  });

  it("also if the reader left by an exception", async () => {
    const store = await memoryStore();
    const { runner, finish } = notes({ store });
    const read = async () => {
      for await (const { type } of runner.stream("Go", { runId: "r-1" }))
        if (type === "turn.started") throw new Error("The reader failed.");
    };
    expect(await failureOf(read())).toHaveProperty("message", "The reader failed.");
    finish();
    await vi.waitFor(async () => expect(await statusOf(store)).toBe("succeeded"));
  });

  it("is still cancelled by its signal", async () => {
    const store = await memoryStore();
    const { runner, finish } = notes({ store });
    const cancel = new AbortController();
    for await (const { type } of runner.stream("Go", { runId: "r-1", signal: cancel.signal }))
      if (type === "turn.committed") break;
    cancel.abort();
    finish();
    await vi.waitFor(async () => expect(await statusOf(store)).toBe("cancelled"));
  });

  it("keeps the store open that the stream opened", async () => {
    const [folder, before] = [mkdtempSync(join(tmpdir(), "pawl-left-")), process.cwd()];
    process.chdir(folder);
    try {
      const { runner, finish } = notes({});
      await leaveEarly(runner);
      finish();
      const store = await openStore();
      await vi.waitFor(async () => expect(await statusOf(store)).toBe("succeeded"), 5_000);
      expect((await store.verify("r-1")).problems).toEqual([]);
      await store.close();
    } finally {
      process.chdir(before);
      rmSync(folder, { recursive: true });
    }
  });

  it("still reports its events to onEvent, and its failure as a warning", async () => {
    const store = await memoryStore();
    const gate = Promise.withResolvers<void>();
    const step = Step.run("a", async () => {
      await gate.promise;
      throw new Error("No.");
    });
    const events: RunEvent[] = [];
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    for await (const _ of new Runner(step, { store, onEvent: (event) => events.push(event) }).stream("Go", {
      runId: "r-1",
    }))
      break;
    gate.resolve();
    const message = expect.stringMatching(/^Run r-1 failed after the reader of its stream had left: .*No\./);
    await vi.waitFor(() => expect(events.at(-1)).toEqual({ type: "warning", runId: "r-1", message }));
    expect(await store.getRun("r-1")).toMatchObject({ status: "failed", error: { code: "step_failed" } });
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it("reports its failure as a process warning if there is no onEvent", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const store = await memoryStore();
    const step = Step.run("a", () => Promise.reject(new Error("No.")));
    for await (const _ of new Runner(step, { store }).stream("Go", { runId: "r-1" })) break;
    await vi.waitFor(() => expect(warn.mock.calls[0]?.[0]).toContain("Run r-1 failed after the reader"));
  });
});
