// A run that waits for its provider does not look like one that hangs.

import { describe, expect, it } from "vitest";
import { formatTimeOfDay } from "../../../src/cli/screen/format.ts";
import { progressAfter, progressAt, type RunProgress } from "../../../src/cli/screen/progress.ts";
import { progressBlock } from "../../../src/cli/screen/progress-block.ts";
import { type LineAudience, progressLines } from "../../../src/cli/screen/progress-lines.ts";
import { NOTHING } from "../../../src/core/usage/usage.ts";
import type { RunEvent } from "../../../src/engine/ports/run-events.ts";

const SINCE = Date.UTC(2026, 0, 1, 14, 2, 5);
const at = { runId: "r-1", step: "hello", turn: 1 } as const;
const MESSAGE = "fake/m refused the request for now (429): slow down.";

const started: RunEvent = { type: "turn.started", ...at, replayed: false };
const settled = (attempt: number, basis: "none" | "provider"): RunEvent => ({
  type: "usage.settled",
  ...at,
  attempt,
  basis,
  reserved: NOTHING,
  charged: NOTHING,
});
const refused = (attempt: number, retryInMs: number): RunEvent => ({
  type: "model.failed",
  ...at,
  attempt,
  message: MESSAGE,
  retryInMs,
  outageSince: SINCE,
});

/** What is shown of these events, which happen a second apart. */
function shown(events: readonly RunEvent[], audience: LineAudience) {
  let progress: RunProgress = progressAt(0);
  const lines: string[] = [];
  events.forEach((event, second) => {
    const now = second * 1_000;
    lines.push(
      ...progressLines(progress, event, now, audience).map(({ text, figures }) =>
        `${text} ${figures}`.trim(),
      ),
    );
    progress = progressAfter(progress, event, now, () => null);
  });
  return { progress, lines };
}

const OUTAGE = [started, settled(1, "none"), refused(1, 500), settled(2, "none"), refused(2, 20_000)];
const TIME = formatTimeOfDay(SINCE);

describe("an outage of the provider", () => {
  it("is one line on a terminal, and a line for each refusal in a log", () => {
    const what = "fake/m refused the request for now (429): slow down; nothing is charged";
    expect(shown(OUTAGE, "terminal").lines).toEqual([`${what}: waiting since ${TIME}`]);
    expect(shown(OUTAGE, "log").lines).toEqual([
      `${what}: waiting since ${TIME}; retrying in 0.5 s`,
      `still refused: waiting since ${TIME}; retrying in 20 s`,
    ]);
  });

  it("is shown while it lasts, with the time until the next request and since its start", () => {
    const { progress } = shown(OUTAGE, "terminal");
    const line = (now: number) => progressBlock(progress, now, 100, "")[1]?.replace(/ {2,}/g, "  ");
    expect(line(9_000)).toBe(`  waiting for the model's provider since ${TIME}: next request in 0:15  0:07`);
    expect(line(25_000)).toBe(
      `  waiting for the model's provider since ${TIME}: asking the model again  0:23`,
    );
  });

  it("has a line for its end", () => {
    const { lines, progress } = shown([...OUTAGE, settled(3, "provider")], "terminal");
    expect(lines.at(-1)).toBe("the model's provider takes requests again 3.0 s");
    expect(progress.model).toBeNull();
  });
});
