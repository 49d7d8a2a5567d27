import { describe, expect, it, vi } from "vitest";
import { findLines } from "../../../src/adapters/tools/text-lines.ts";

const { signal } = new AbortController();

describe("the matching lines of a text", () => {
  it("are returned with their numbers, and a final line end begins no line", async () => {
    const all = await findLines("a\n\nb\n", () => true, 10, signal);
    expect(all).toEqual([
      { number: 1, line: "a" },
      { number: 2, line: "" },
      { number: 3, line: "b" },
    ]);
    expect(await findLines("", () => true, 10, signal)).toEqual([]);
    expect(await findLines("a\nlast", (line) => line === "last", 10, signal)).toEqual([
      { number: 2, line: "last" },
    ]);
  });

  it("are searched no further than the last that is needed", async () => {
    const fits = vi.fn(() => true);
    expect(await findLines("a\n".repeat(1_000), fits, 3, signal)).toHaveLength(3);
    expect(fits).toHaveBeenCalledTimes(3);
  });

  it("are searched with pauses, in which other work runs and the search can be aborted", async () => {
    const long = `${"x".repeat(99)}\n`.repeat(30_000);
    const control = new AbortController();
    setImmediate(() => control.abort(new Error("No longer wanted.")));
    const fits = vi.fn(() => false);
    await expect(findLines(long, fits, 1, control.signal)).rejects.toThrow("No longer wanted.");
    expect(fits.mock.calls.length).toBeLessThan(30_000);
  });
});
