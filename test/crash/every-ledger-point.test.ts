import { beforeAll, describe, expect, test } from "vitest";
import type { Settlement } from "../../src/index.ts";
import type { CrashPoint } from "../../src/testing/index.ts";
import { CrashFolder, crashFolder } from "./crash-folder.ts";
import { LEDGER_POINTS } from "./ledger-points.ts";
import type { Act, CrashSite, ReportedResult, Said, Variant } from "./worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "chores-1" };
const RESUME: Act = { do: "resume", runId: "chores-1" };
const ONE_AT_A_TIME: Variant = { maxParallelToolCalls: 1 };

/** What the person who is asked about `ring` finds out, and says. */
const RING_AGAIN: Settlement = { as: "retry" };
const IT_HAS_RUNG: Settlement = { as: "succeeded", result: "rung" };

type Kill = {
  readonly point: CrashPoint;
  /** Whose call it is about. Each tool passes some of the points, in the order ring, post, sign. */
  readonly of: "ring" | "post" | "sign" | "run";
  readonly occurrence?: number;
  /** Which tries of each tool were dispatched, by all processes together. */
  readonly ring?: readonly number[];
  readonly post?: readonly number[];
  /** What had to be said about a call that nobody knew of whether it happened; the approval is needed anyway. */
  readonly said?: Settlement;
};

const BEFORE_THE_APPROVAL: readonly Kill[] = [
  // What was said of the first try is not stored yet: the bell may have rung, as far as anybody knows.
  { point: "tool:before-try-end", of: "ring", ring: [1, 2], said: RING_AGAIN },
  // From here on it is known that nothing happened, so nobody has to be asked.
  { point: "tool:try-ended", of: "ring" },
  { point: "tool:before-start", of: "ring" },
  // The second try is `running` and was not dispatched: only a person can say so.
  { point: "tool:started", of: "ring", ring: [1, 3], said: RING_AGAIN },
  // The receipt of `ring` is on its way to the store, in the same transaction as the start of `post`.
  { point: "tool:before-start", of: "post", occurrence: 2, said: IT_HAS_RUNG },
  { point: "tool:started", of: "post", occurrence: 2, post: [2] },
  // The letter was posted, so it is found, whatever is stored of its try.
  { point: "tool:before-try-end", of: "post", occurrence: 2 },
  { point: "tool:try-ended", of: "post", occurrence: 2 },
  { point: "tool:before-reconcile", of: "post" },
  { point: "tool:reconciled", of: "post" },
  { point: "run:before-wait", of: "run" },
  { point: "run:waiting", of: "run" },
];

const AFTER_THE_APPROVAL: readonly (Kill & { readonly sign?: readonly number[] })[] = [
  { point: "tool:before-start", of: "sign" },
  { point: "tool:started", of: "sign", sign: [2], said: { as: "retry" } },
];

let unbroken: { readonly result: ReportedResult; readonly stored: Awaited<ReturnType<typeof stored>> };
let reached: readonly string[];

beforeAll(async () => {
  const folder = CrashFolder.make();
  try {
    const asking = await work(folder, RUN, { trace: true });
    expect(asking).toMatchObject({ status: "waiting", waits: [{ kind: "approval" }] });
    const result = await work(folder, answer({ approval: "approve" }), { trace: true });
    unbroken = { result, stored: await stored(folder) };
    reached = folder.lines("reached").map(({ point }) => point);
    assertDone(folder, {});
    expect(result.output).toBe("Done: rung, posted, signed.");
  } finally {
    await folder.remove();
  }
});

describe("a process killed at a point of a call that takes more than one step", () => {
  test.for(BEFORE_THE_APPROVAL)("goes on after $point of $of", async (kill) => {
    const folder = crashFolder();
    await folder.killed({ scenario: "chores", act: RUN, variant: ONE_AT_A_TIME, crash: siteOf(kill) });
    const asking = await work(folder, RESUME);
    const questions = kill.said === undefined ? ["approval"] : ["approval", "in_doubt"];
    expect(asking.status).toBe("waiting");
    expect(asking.waits.map(({ kind }) => kind).sort()).toEqual(questions);

    const said = kill.said === undefined ? {} : { inDoubt: kill.said };
    await assertSame(folder, await work(folder, answer({ approval: "approve", ...said })), kill);
  });

  test.for(AFTER_THE_APPROVAL)("goes on after $point of $of, with its approval", async (kill) => {
    const folder = crashFolder();
    await work(folder, RUN);
    const approve = answer({ approval: "approve" });
    await folder.killed({ scenario: "chores", act: approve, variant: ONE_AT_A_TIME, crash: siteOf(kill) });
    let result = await work(folder, RESUME);
    if (kill.said !== undefined) {
      expect(result.waits).toMatchObject([{ kind: "in_doubt", toolCallId: "chores-1/chores#1.3" }]);
      result = await work(folder, answer({ inDoubt: kill.said }));
    }
    await assertSame(folder, result, kill);
  });

  test("is killed at every such point there is", () => {
    const killedAt = [...BEFORE_THE_APPROVAL, ...AFTER_THE_APPROVAL].map(({ point }) => point);
    expect(new Set(killedAt)).toEqual(new Set(LEDGER_POINTS));
    // As often as it is passed, too.
    for (const point of LEDGER_POINTS)
      expect({ point, kills: killedAt.filter((each) => each === point).length }).toEqual({
        point,
        kills: reached.filter((each) => each === point).length,
      });
  });
});

function work(
  folder: CrashFolder,
  act: Act,
  more: { readonly trace?: boolean } = {},
): Promise<ReportedResult> {
  return folder.result({ scenario: "chores", act, variant: ONE_AT_A_TIME, ...more });
}

function answer(said: Said): Act {
  return { do: "answer", runId: "chores-1", said };
}

function siteOf({ point, occurrence }: Kill): CrashSite {
  return { point, ...(occurrence === undefined ? {} : { occurrence }) };
}

/** By the witnesses alone: each effect once, and no try but those that the kill explains. */
function assertDone(
  folder: CrashFolder,
  { ring = [1, 2], post = [1], sign = [1] }: Partial<Kill> & { readonly sign?: readonly number[] },
): void {
  const tries = (tool: string) =>
    folder.lines("tried").flatMap((line) => (line.tool === tool ? [line.attempt] : []));
  expect({ ring: tries("ring"), post: tries("post"), sign: tries("sign") }).toEqual({ ring, post, sign });
  // In whatever order: the others go on while a person is asked about one.
  const effects = folder.lines("effect").map(({ tool }) => tool);
  expect(effects.sort()).toEqual(["post", "ring", "sign"]);
  expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2]);
}

async function assertSame(folder: CrashFolder, result: ReportedResult, kill: Kill): Promise<void> {
  assertDone(folder, kill);
  expect(result).toMatchObject({ status: "succeeded", output: unbroken.result.output, waits: [] });
  expect(await stored(folder)).toEqual(unbroken.stored);
  const waits = await folder.withStore((store) => store.listWaits("chores-1"));
  expect(waits).toHaveLength(kill.said === undefined ? 1 : 2);
}

function stored(folder: CrashFolder) {
  return folder.withStore(async (store) => {
    const calls = await store.listToolCalls("chores-1");
    return {
      history: await store.readHistory("chores-1", "chores"),
      calls: calls.map(({ toolCallId, idempotencyKey, status }) => ({ toolCallId, idempotencyKey, status })),
      steps: (await store.listSteps("chores-1")).map(({ path, status }) => ({ path, status })),
    };
  });
}
