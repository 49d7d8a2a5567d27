import { expect, test } from "vitest";
import { KeptReads } from "../../../src/server/handlers/kept-reads.ts";

/** Reads that take as long as a test says. */
function timed() {
  let now = 0;
  let count = 0;
  const kept = new KeptReads({ monotonic: () => now });
  const read = (what: string, tookMs: number) =>
    kept.read(what, async () => {
      count += 1;
      const own = count;
      await Promise.resolve();
      now += tookMs;
      return own;
    });
  const pass = (ms: number) => {
    now += ms;
  };
  return { kept, read, pass };
}

test("a quick read is done each time: what a person has just done shows", async () => {
  const { read } = timed();
  expect([await read("a", 9), await read("a", 9)]).toEqual([1, 2]);
});

test("a costly read is kept for a hundred times as long as it took, and for a minute at the most", async () => {
  const { read, pass } = timed();
  expect(await read("counts", 10)).toBe(1);
  pass(999);
  expect(await read("counts", 10)).toBe(1);
  pass(1);
  expect(await read("counts", 10)).toBe(2);
  expect(await read("sums", 5_000)).toBe(3);
  pass(59_999);
  expect(await read("sums", 5_000)).toBe(3);
  pass(1);
  expect(await read("sums", 5_000)).toBe(4);
});

test("the same is read once at a time, and something else beside it", async () => {
  const { read } = timed();
  const reads = [read("a", 50), read("a", 50), read("b", 50)];
  expect(await Promise.all(reads)).toEqual([1, 1, 2]);
});

test("a read that fails is not kept", async () => {
  const { kept, read } = timed();
  await expect(kept.read("a", () => Promise.reject(new Error("No.")))).rejects.toThrow("No.");
  expect(await read("a", 50)).toBe(1);
});

test("no more than a hundred are kept", async () => {
  const { read } = timed();
  for (let i = 0; i <= 100; i++) await read(`${i}`, 100);
  expect(await read("100", 100)).toBe(101);
  expect(await read("0", 100)).toBe(102);
});
