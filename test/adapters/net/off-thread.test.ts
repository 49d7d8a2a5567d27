import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { CHECK_BY_SCHEMA } from "../../../src/adapters/net/foreign-schema.ts";
import { OffThreadError, offThread } from "../../../src/adapters/net/off-thread.ts";

const slow = { schema: { type: "string", pattern: "^(a+)+$" }, value: `${"a".repeat(40)}!` };
const quick = { schema: { type: "string", pattern: "^a$" }, value: "a" };

it("Work that takes too long, or is aborted, is stopped, and the next work is done", async () => {
  const late = offThread(CHECK_BY_SCHEMA, slow, { timeoutMs: 50 });
  await expect(late).rejects.toThrow(OffThreadError);
  await expect(late).rejects.toThrow("took longer than 50 ms");
  const stop = new AbortController();
  const stopped = offThread(CHECK_BY_SCHEMA, slow, { timeoutMs: 60_000, signal: stop.signal });
  setTimeout(() => stop.abort(new Error("The run was cancelled.")), 50);
  await expect(stopped).rejects.toThrow("The run was cancelled.");
  expect(await offThread(CHECK_BY_SCHEMA, quick, { timeoutMs: 60_000 })).toEqual({ ok: true, value: "a" });
});

it("Work that is aborted at any moment while its thread starts is not done", async () => {
  const script = `
    const { offThread } = await import("./src/adapters/net/off-thread.ts");
    const { CHECK_BY_SCHEMA } = await import("./src/adapters/net/foreign-schema.ts");
    const outcomes = [];
    for (let ticks = 0; ticks < 12; ticks++) {
      const stop = new AbortController();
      const work = offThread(CHECK_BY_SCHEMA, ${JSON.stringify(quick)}, { timeoutMs: 60_000, signal: stop.signal, source: "s" + ticks });
      const outcome = work.then(() => "done", (error) => error.message);
      for (let tick = 0; tick < ticks; tick++) await null;
      stop.abort(new Error("cancelled"));
      outcomes.push(await outcome);
    }
    const last = await offThread(CHECK_BY_SCHEMA, ${JSON.stringify(quick)}, { timeoutMs: 60_000 });
    console.log(JSON.stringify([[...new Set(outcomes)], last]));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    timeout: 60_000,
  });
  expect(stdout).toBe('[["cancelled"],{"ok":true,"value":"a"}]\n');
});

it("A failure on the thread rejects with its message", async () => {
  const unreadable = { schema: { type: "string", pattern: "(" }, value: "a" };
  await expect(offThread(CHECK_BY_SCHEMA, unreadable, { timeoutMs: 60_000 })).rejects.toThrow(
    /failed: .*regular expression/i,
  );
});

it("An idle thread does not keep the process alive", async () => {
  const script = `
    const { offThread } = await import("./src/adapters/net/off-thread.ts");
    const { CHECK_BY_SCHEMA } = await import("./src/adapters/net/foreign-schema.ts");
    console.log(JSON.stringify(await offThread(CHECK_BY_SCHEMA, ${JSON.stringify(quick)}, { timeoutMs: 60_000 })));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    timeout: 60_000,
  });
  expect(stdout).toBe('{"ok":true,"value":"a"}\n');
});
