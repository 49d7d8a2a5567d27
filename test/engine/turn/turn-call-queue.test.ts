import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallQueue, type QueuedCall } from "../../../src/engine/turn/turn-call-queue.ts";

type Call = Omit<QueuedCall, "callIndex">;
const FREE: Call = { exclusive: false, follows: null };
const ALONE: Call = { exclusive: true, follows: null };
const after = (follows: number): Call => ({ exclusive: false, follows });

const queueOf = (limit: number, ...calls: Call[]) =>
  new CallQueue(
    calls.map((call, i) => ({ ...call, callIndex: i + 1 })),
    limit,
  );

const taken = (queue: CallQueue<QueuedCall>) => queue.take().map(({ callIndex }) => callIndex);

describe("a call queue", () => {
  it("starts as many calls as the limit allows, in call order, and others as those end", () => {
    const queue = queueOf(2, FREE, FREE, FREE, FREE);
    expect(taken(queue)).toEqual([1, 2]);
    expect(taken(queue)).toEqual([]);
    queue.end(2);
    expect(taken(queue)).toEqual([3]);
    queue.end(1);
    queue.end(3);
    expect(taken(queue)).toEqual([4]);
    expect(queue.isDone).toBe(false);
    queue.end(4);
    expect(queue.isDone).toBe(true);
    expect(taken(queue)).toEqual([]);
  });

  it("makes an exclusive call wait for all before it, and all behind it wait for that", () => {
    const queue = queueOf(8, FREE, FREE, ALONE, FREE);
    expect(taken(queue)).toEqual([1, 2]);
    queue.end(1);
    expect(taken(queue)).toEqual([]);
    queue.end(2);
    expect(taken(queue)).toEqual([3]);
    expect(taken(queue)).toEqual([]);
    queue.end(3);
    expect(taken(queue)).toEqual([4]);
  });

  it("makes a call that follows another wait for that one only", () => {
    const queue = queueOf(8, FREE, after(1), FREE, after(2));
    expect(taken(queue)).toEqual([1, 3]);
    queue.end(3);
    expect(taken(queue)).toEqual([]);
    queue.end(1);
    expect(taken(queue)).toEqual([2]);
    queue.end(2);
    expect(taken(queue)).toEqual([4]);
  });

  it("does not wait for an unknown call", () => {
    expect(taken(queueOf(8, after(9), FREE))).toEqual([1, 2]);
  });

  it("starts a call behind one that waits for another, within the limit", () => {
    const queue = queueOf(2, FREE, after(1), FREE, FREE);
    expect(taken(queue)).toEqual([1, 3]);
    queue.end(1);
    expect(taken(queue)).toEqual([2]);
  });

  it("is done from the start if it is empty", () => {
    expect(queueOf(2).isDone).toBe(true);
  });
});

describe("any call queue, however its calls end", () => {
  const calls = fc
    .array(
      fc.record({
        exclusive: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
        back: fc.option(fc.integer({ min: 1, max: 4 }), { nil: null, freq: 2 }),
      }),
      { maxLength: 12 },
    )
    .map((given) =>
      given.map(({ exclusive, back }, i): QueuedCall => {
        const follows = back === null || i + 1 - back < 1 ? null : i + 1 - back;
        return { callIndex: i + 1, exclusive, follows };
      }),
    );

  it("respects limit, order and exclusive calls, and starts every call", () => {
    fc.assert(
      fc.property(
        calls,
        fc.integer({ min: 1, max: 4 }),
        fc.infiniteStream(fc.nat()),
        (given, limit, chance) => {
          const queue = new CallQueue(given, limit);
          const active = new Set<QueuedCall>();
          const begun: QueuedCall[] = [];
          const ended = new Set<number>();
          for (let round = 0; !queue.isDone; round++) {
            expect(round).toBeLessThanOrEqual(given.length);
            for (const call of queue.take()) {
              // It runs alone, or next to no exclusive call.
              expect(call.exclusive && active.size > 0).toBe(false);
              expect([...active].some(({ exclusive }) => exclusive)).toBe(false);
              // Not before the call that it follows has ended.
              if (call.follows !== null) expect(ended).toContain(call.follows);
              active.add(call);
              begun.push(call);
              expect(active.size).toBeLessThanOrEqual(limit);
            }
            // The queue never waits while nothing runs.
            expect(active.size).toBeGreaterThan(0);
            const next = [...active][chance.next().value % active.size];
            if (next === undefined) continue;
            active.delete(next);
            ended.add(next.callIndex);
            queue.end(next.callIndex);
          }
          const numbers = begun.map(({ callIndex }) => callIndex);
          expect(numbers.toSorted((a, b) => a - b)).toEqual(given.map(({ callIndex }) => callIndex));
          for (const [at, { callIndex, exclusive }] of begun.entries()) {
            const later = begun.slice(at + 1);
            // No call has overtaken an exclusive one; only calls that follow another were overtaken at all.
            if (exclusive) expect(later.every((other) => other.callIndex > callIndex)).toBe(true);
            for (const other of later) if (other.callIndex < callIndex) expect(other.follows).not.toBeNull();
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it("starts as many calls as possible", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 1, max: 12 }), (count, limit) => {
        const queue = queueOf(limit, ...Array.from({ length: count }, () => FREE));
        expect(queue.take()).toHaveLength(Math.min(count, limit));
      }),
    );
  });
});
