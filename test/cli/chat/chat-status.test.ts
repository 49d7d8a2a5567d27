import { expect, it } from "vitest";
import { statusRows } from "../../../src/cli/chat/chat-status.ts";
import { ChatView } from "../../../src/cli/chat/chat-view.ts";
import { paint } from "../../../src/cli/screen/format.ts";
import type { WatchEvent } from "../../../src/index.ts";

const DURABLE = { runId: "c-1", cursor: "", at: 1_000 };
const CLAIMED: WatchEvent = { ...DURABLE, type: "run.claimed", epoch: 1 };
const WAITING: WatchEvent = { ...DURABLE, type: "run.waiting", open: [] };

/** The rows of a text that no exchange has taken, after these events. */
function rowsOf(sendOnly: boolean, ...events: readonly WatchEvent[]): readonly string[] {
  const view = new ChatView();
  view.sends({ messageId: "m-1", text: "hello" });
  for (const event of events) view.take(event, 1_000);
  const of = { phase: "talking", awaited: null, now: 0, columns: 80, answerRows: 5 } as const;
  return statusRows({ view, sendOnly, ...of }, paint({ useColour: false }));
}

it("a text that waits before its exchange is open is shown as work, also while a summary is written", () => {
  expect(rowsOf(false)).toEqual([expect.stringMatching(/^\S preparing the answer$/), "› hello"]);
  expect(rowsOf(true, WAITING)[0]).toMatch(/^\S waiting for a worker$/);
  expect(rowsOf(true, CLAIMED)[0]).toMatch(/^\S preparing the answer$/);
});
