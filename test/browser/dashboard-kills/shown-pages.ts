// What pages show of a run, and what the store has of it.

import { isDeepStrictEqual } from "node:util";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { shownStatus } from "../../../src/account/run-status.ts";
import type { Store } from "../../../src/store/store.ts";

/** The machine has other work too. */
export const WAIT = { timeout: 30_000, interval: 20 };

export function connectionOf(page: Page): Promise<string> {
  return page.getByRole("status").first().innerText();
}

export async function isLive(page: Page): Promise<void> {
  await expect.poll(() => connectionOf(page), WAIT).toBe("live");
}

export async function isLost(page: Page): Promise<void> {
  await expect.poll(() => connectionOf(page), WAIT).toMatch(/reconnecting|offline/);
}

/** A page about a run, and how to compare it with the store. */
export type ShownPage = {
  readonly path: (runId: string) => string;
  readonly shown: (page: Page, runId: string) => Promise<unknown>;
  readonly stored: (store: Store, runId: string) => Promise<unknown>;
};

/** So many turns at the end of a transcript are compared: it shows the end, and those are in sight together. */
export const LAST_TURNS = 3;

export const SHOWN = {
  list: {
    path: () => "/?view=all",
    shown: (page, runId) => statusInList(page, runId),
    stored: statusOf,
  },
  timeline: {
    path: (runId) => `/runs/${runId}?table=1`,
    shown: (page) => page.getByRole("button", { name: "step", exact: true }).count(),
    // A call that was out when its worker died is there twice.
    stored: async (store, runId) =>
      (await store.listToolCalls(runId)).reduce((sum, { attempt }) => sum + attempt, 0),
  },
  transcript: {
    path: (runId) => `/runs/${runId}?view=transcript`,
    shown: lastTurns,
    stored: async (store, runId) =>
      (await store.listTurns(runId))
        .slice(-LAST_TURNS)
        .map(({ turnIndex, calls }) => ({ turn: turnIndex, calls: calls.map(inWords) })),
  },
  ledger: {
    path: (runId) => `/runs/${runId}?view=ledger`,
    shown: (page) => page.locator("section[aria-label=Ledger] tbody td:nth-child(4)").allInnerTexts(),
    stored: async (store, runId) => (await store.listToolCalls(runId)).map(inWords),
  },
  money: {
    path: (runId) => `/runs/${runId}?view=money`,
    shown: (page) => page.locator("table:has(caption) tbody tr").count(),
    stored: async (store, runId) =>
      new Set((await store.listModelCalls(runId)).map(({ turnIndex }) => turnIndex)).size,
  },
  log: { path: (runId) => `/runs/${runId}?view=log`, shown: wholeLog, stored: storedLog },
} as const satisfies { readonly [name: string]: ShownPage };

/** How a call stands, as pages write it. A run that is cancelled in the middle of a call leaves it in doubt. */
function inWords({ status }: { readonly status: string }): string {
  return status.replaceAll("_", " ");
}

export function statusInList(page: Page, runId: string): Promise<string> {
  return page.locator(`[data-run="${runId}"] [role=cell]`).nth(1).innerText();
}

async function statusOf(store: Store, runId: string): Promise<string> {
  const run = await store.getRun(runId);
  return run === null ? "none" : shownStatus(run, Date.now());
}

export type LogRow = { readonly seq: number; readonly type: string; readonly hash: string };

/** In the page, since rows come and go while it is scrolled. A row whose event is not there yet has its number only. */
const READ_ROWS = `(rows) => rows.map((row) => row.innerText.split("\\n")).map(([seq, , type = "", , hash = ""]) =>
  ({ seq: Number(seq), type, hash }))`;
const ROWS_IN_SIGHT = `(${READ_ROWS})([...document.querySelectorAll("section[aria-label=Log] ol li")])`;

/** The rows in sight before the first whose event is not there yet: the last ones, while the log is followed. */
export async function logInSight(page: Page): Promise<readonly LogRow[]> {
  const rows = (await page.evaluate(ROWS_IN_SIGHT)) as readonly LogRow[];
  const blank = rows.findIndex(({ hash }) => hash === "");
  return blank === -1 ? rows : rows.slice(0, blank);
}

/** Looks at a log that grows for a third of a second: the rows that had their events, and those of them that lost them. */
export async function watchLog(
  page: Page,
): Promise<{ readonly filled: readonly number[]; readonly emptied: readonly number[] }> {
  return (await page.evaluate(`(async () => {
    const [filled, emptied] = [new Set(), new Set()];
    for (let look = 0; look < 33; look++) {
      for (const { seq, hash } of ${ROWS_IN_SIGHT}) {
        if (hash !== "") filled.add(seq);
        else if (filled.has(seq)) emptied.add(seq);
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return { filled: [...filled], emptied: [...emptied] };
  })()`)) as { readonly filled: readonly number[]; readonly emptied: readonly number[] };
}

/** The last turns that a transcript shows, each with how its calls stand. */
async function lastTurns(page: Page): Promise<unknown> {
  return page.evaluate(`[...document.querySelectorAll("section[aria-label=Transcript] [data-index]")]
    .sort((a, b) => a.dataset.index - b.dataset.index)
    .flatMap((row) => {
      const turn = /^turn (\\d+)/.exec(row.innerText);
      const calls = [...row.querySelectorAll("button[aria-expanded] > :last-child")];
      return turn === null ? [] : [{ turn: Number(turn[1]), calls: calls.map(({ innerText }) => innerText) }];
    })
    .slice(-${LAST_TURNS})`);
}

/** All rows of the log. The page has only those in sight, so it is scrolled from its beginning to its end. */
async function wholeLog(page: Page): Promise<readonly LogRow[]> {
  return (await page.evaluate(`(async () => {
    const list = document.querySelector("section[aria-label=Log] ol");
    if (list === null) return [];
    const box = list.parentElement;
    const found = new Map();
    for (let top = 0; ; top += box.clientHeight) {
      box.scrollTop = top;
      // Rows in sight are there with the next frames, and their events when the server has answered.
      let rows;
      for (let look = 0; look < 100; look++) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        rows = (${READ_ROWS})([...list.querySelectorAll("li")]);
        if (look > 0 && rows.every(({ hash }) => hash !== "")) break;
      }
      for (const row of rows) found.set(row.seq, row);
      if (top >= box.scrollHeight - box.clientHeight) return [...found.values()].sort((a, b) => a.seq - b.seq);
    }
  })()`)) as readonly LogRow[];
}

export async function storedLog(store: Store, runId: string): Promise<readonly LogRow[]> {
  const events = await store.listEvents(runId, { limit: 10_000 });
  return events.map(({ seq, type, hash }) => ({ seq, type, hash: hash.slice(0, 8) }));
}

/** Waits until a page shows what the store has. Nothing is clicked, and nothing is loaded again. */
export async function isRight(page: Page, shown: ShownPage, store: Store, runId: string): Promise<void> {
  const differs = async () => difference(await shown.shown(page, runId), await shown.stored(store, runId));
  // A long log takes many seconds to be scrolled through.
  await expect.poll(differs, { ...WAIT, timeout: 90_000 }).toBeNull();
}

/** Where they are not the same: of two long lists, the first place. */
function difference(shown: unknown, stored: unknown): unknown {
  if (isDeepStrictEqual(shown, stored)) return null;
  if (!Array.isArray(shown) || !Array.isArray(stored)) return { shown, stored };
  const at = stored.findIndex((each, index) => !isDeepStrictEqual(each, shown[index]));
  const place = at === -1 ? stored.length : at;
  return { place, of: [shown.length, stored.length], shown: shown[place], stored: stored[place] };
}
