// A run of thousands of turns is shown, exported and listed by a process without the memory for all of it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/index.ts";
import { CliFolder } from "./cli-process.ts";
import { writeLongRun } from "./long-run.ts";

const TURNS = 2_500;
/** More than the command itself needs, and much less than the run would. */
const HEAP_MB = 28;

describe("a long run, in little memory", () => {
  it("is shown, listed and exported completely", async () => {
    const folder = new CliFolder("export default {};");
    const store = await openStore(`file:${join(folder.path, ".pawl/pawl.db")}`);
    await writeLongRun(store, "long-1", TURNS);
    await store.close();
    const pawl = async (...args: readonly string[]) => {
      const { exitCode, stdout, stderr } = await folder.pawlWithin(HEAP_MB, ...args);
      expect([args, exitCode, stderr]).toEqual([args, 0, ""]);
      return stdout;
    };
    const [shown, json, log] = await Promise.all([
      pawl("show", "long-1"),
      pawl("show", "long-1", "--json"),
      pawl("tail", "long-1"),
      pawl("export", "long-1", "--to", "exported"),
    ]);
    expect(shown).toContain("2,500 turns, 2,500 tool calls");
    const { turns, calls } = JSON.parse(json) as Record<string, readonly unknown[]>;
    expect([turns?.length, calls?.length]).toEqual([TURNS, TURNS]);
    expect(log.match(/turn\.committed/g)).toHaveLength(TURNS);
    const file = (name: string) => readFileSync(join(folder.path, "exported", name), "utf8");
    expect(file("transcript.md").match(/^#### Turn /gm)).toHaveLength(TURNS);
    expect(file("run.log").match(/turn\.committed/g)).toHaveLength(TURNS);
    const receipts = JSON.parse(file("receipts.json")) as { readonly calls: readonly unknown[] };
    expect(receipts.calls).toHaveLength(TURNS);
    const { traceEvents } = JSON.parse(file("trace.json")) as { readonly traceEvents: readonly unknown[] };
    expect(traceEvents.length).toBeGreaterThan(3 * TURNS);
  });
});
