import { expect, it } from "vitest";
import { FairQueue, QueueFullError } from "../../../src/adapters/net/fair-queue.ts";

/** Work that ends on demand, and the order in which it began. */
function works(queue: FairQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (source: string, name: string, signal?: AbortSignal) =>
    queue.run(source, signal, () => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { begun, start, end };
}

it("A source that asks for much leaves a slot for others, and delays only itself", async () => {
  const { begun, start, end } = works(new FairQueue(2, 10));
  for (const name of ["a1", "a2", "a3"]) void start("a", name);
  void start("b", "b1");
  expect(begun).toEqual(["a1", "b1"]);
  void start("b", "b2");
  void start("c", "c1");
  await end("a1");
  expect(begun).toEqual(["a1", "b1", "a2"]);
  // The others get their turn before its second one.
  await end("a2");
  await end("b1");
  expect(begun.slice(3)).toEqual(["c1", "b2"]);
  for (const name of ["c1", "b2"]) await end(name);
  expect(begun.at(-1)).toBe("a3");
});

it("Waiting work can be aborted, and then takes no turn", async () => {
  const { begun, start, end } = works(new FairQueue(2, 10));
  const stop = new AbortController();
  void start("a", "a1");
  const second = start("a", "a2", stop.signal);
  void start("a", "a3");
  stop.abort(new Error("The run is over."));
  await expect(second).rejects.toThrow("The run is over.");
  await end("a1");
  expect(begun).toEqual(["a1", "a3"]);
});

it("Too much waiting work of a source is refused, that of another source is not", async () => {
  const { begun, start } = works(new FairQueue(2, 1));
  void start("a", "a1");
  void start("a", "a2");
  await expect(start("a", "a3")).rejects.toThrow(QueueFullError);
  void start("b", "b1");
  expect(begun).toEqual(["a1", "b1"]);
});

it("Work that fails releases its slot", async () => {
  const queue = new FairQueue(2, 10);
  await expect(queue.run("a", undefined, () => Promise.reject(new Error("No.")))).rejects.toThrow("No.");
  expect(await queue.run("a", undefined, async () => 1)).toBe(1);
});
