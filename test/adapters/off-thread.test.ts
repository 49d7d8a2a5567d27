import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { OffThreadError, offThread } from "../../src/adapters/off-thread.ts";

const slow = { schema: { type: "string", pattern: "^(a+)+$" }, value: `${"a".repeat(40)}!` };
const quick = { schema: { type: "string", pattern: "^a$" }, value: "a" };

it("Work that takes too long, or is aborted, is given up, and the next is done", async () => {
  const late = offThread("checkBySchema", slow, { timeoutMs: 50 });
  await expect(late).rejects.toThrow(OffThreadError);
  await expect(late).rejects.toThrow("took longer than 50 ms");
  const stop = new AbortController();
  const stopped = offThread("checkBySchema", slow, { timeoutMs: 60_000, signal: stop.signal });
  setTimeout(() => stop.abort(new Error("The run was cancelled.")), 50);
  await expect(stopped).rejects.toThrow("The run was cancelled.");
  expect(await offThread("checkBySchema", quick, { timeoutMs: 60_000 })).toEqual({ ok: true, value: "a" });
});

it("What fails there fails here, and says why", async () => {
  const unreadable = { schema: { type: "string", pattern: "(" }, value: "a" };
  await expect(offThread("checkBySchema", unreadable, { timeoutMs: 60_000 })).rejects.toThrow(
    /failed: .*regular expression/i,
  );
});

it("A thread that rests does not keep the process", async () => {
  const script = `
    const { offThread } = await import("./src/adapters/off-thread.ts");
    console.log(JSON.stringify(await offThread("checkBySchema", ${JSON.stringify(quick)}, { timeoutMs: 60_000 })));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    timeout: 60_000,
  });
  expect(stdout).toBe('{"ok":true,"value":"a"}\n');
});
