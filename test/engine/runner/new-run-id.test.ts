import { afterEach, describe, expect, it, vi } from "vitest";
import { newRunId } from "../../../src/engine/runner/new-run-id.ts";

afterEach(() => vi.useRealTimers());

describe("a new run id", () => {
  it("is a UUID of version 7 with the time in front", () => {
    vi.useFakeTimers({ now: Date.UTC(2040, 0, 1) });
    const id = newRunId();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toBe(Date.UTC(2040, 0, 1));
  });

  it("sorts after every earlier one, in the same millisecond and after the clock was set back", () => {
    vi.useFakeTimers({ now: Date.UTC(2041, 0, 1) });
    const ids = Array.from({ length: 5_000 }, () => newRunId());
    vi.setSystemTime(Date.UTC(2030, 0, 1));
    ids.push(newRunId());
    vi.setSystemTime(Date.UTC(2042, 0, 1));
    ids.push(newRunId());
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
