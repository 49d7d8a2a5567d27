import { describe, expect, it } from "vitest";
import { fakeClock } from "../../src/testing/index.ts";

describe("a fake clock", () => {
  it("stands still until it is advanced, and then both of its times move", async () => {
    const clock = fakeClock(1_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect([clock.now(), clock.monotonic()]).toEqual([1_000, 0]);
    await clock.advance(250);
    expect([clock.now(), clock.monotonic()]).toEqual([1_250, 250]);
  });

  it("moves its wall time alone, forwards and back, without firing a timer", async () => {
    const clock = fakeClock(1_000);
    let called = 0;
    clock.after(10, () => called++);
    clock.setWall(5_000);
    expect([clock.now(), clock.monotonic(), called]).toEqual([5_000, 0, 0]);
    clock.setWall(0);
    await clock.advance(10);
    expect([clock.now(), clock.monotonic(), called]).toEqual([10, 10, 1]);
  });

  it("fires timers in the order of time, each at its own", async () => {
    const clock = fakeClock(0);
    const called: string[] = [];
    const note = (name: string) => () => void called.push(`${name} at ${clock.monotonic()}`);
    clock.after(30, note("late"));
    clock.after(10, note("early"));
    clock.after(10, note("early too"));
    clock.every(20, note("every"));
    await clock.advance(45);
    expect(called).toEqual(["early at 10", "early too at 10", "every at 20", "late at 30", "every at 40"]);
  });

  it("fires a timer that a callback set on the way", async () => {
    const clock = fakeClock(0);
    const called: number[] = [];
    clock.after(10, () => clock.after(10, () => called.push(clock.monotonic())));
    await clock.advance(100);
    expect(called).toEqual([20]);
  });

  it("lets the work of a callback run before time advances further", async () => {
    const clock = fakeClock(0);
    const woken: number[] = [];
    const sleeper = async () => {
      for (let i = 0; i < 3; i++) {
        await clock.sleep(10);
        woken.push(clock.monotonic());
      }
    };
    const done = sleeper();
    await clock.advance(30);
    await done;
    expect(woken).toEqual([10, 20, 30]);
  });

  it("does not fire a cancelled timer", async () => {
    const clock = fakeClock(0);
    let called = 0;
    clock.after(10, () => called++)();
    const stop = clock.every(10, () => called++);
    await clock.advance(25);
    stop();
    await clock.advance(100);
    expect(called).toBe(2);
  });

  it("wakes a sleeper early with the reason of its signal", async () => {
    const clock = fakeClock(0);
    const cancel = new AbortController();
    const reason = new Error("Enough.");
    const asleep = clock.sleep(1_000, cancel.signal);
    cancel.abort(reason);
    await expect(asleep).rejects.toBe(reason);
    await expect(clock.sleep(1_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    await expect(clock.sleep(1_000, AbortSignal.abort("words"))).rejects.toThrow("aborted");
  });
});
