import { createHash } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { CrashFolder, crashFolder } from "./crash-folder.ts";
import type { Act, CrashSite, ReportedResult } from "./worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "story-1" };
const RESUME: Act = { do: "resume", runId: "story-1" };

/** Every granular step of the story: one before the loop, one in each of its three iterations. */
const DRAFTS = ["polish[1]/pass/draft", "polish[2]/pass/draft", "polish[3]/pass/draft"];
const AGENTS = ["outline", ...DRAFTS];

let unbroken: ReportedResult;
/** What the agent of each path is asked about: the output of the step before it. */
let labels: readonly string[];

beforeAll(async () => {
  const folder = CrashFolder.make();
  try {
    unbroken = await folder.result({ scenario: "story", act: RUN });
    labels = [...new Set(folder.lines("asked").map(({ label }) => label))];
    expect(labels).toHaveLength(AGENTS.length);
    assertOnce(folder, [0, 1, 2, 3]);
    assertLoop(folder, 0);
  } finally {
    await folder.remove();
  }
});

const INSIDE_THE_SECOND: readonly (CrashSite & { readonly notes?: number })[] = [
  { point: "step:begun", step: "polish[2]/pass/draft", turn: 0 },
  { point: "turn:opened", step: "polish[2]/pass/draft", turn: 1 },
  { point: "model:answered", step: "polish[2]/pass/draft", turn: 1 },
  { point: "turn:journaled", step: "polish[2]/pass/draft", turn: 1 },
  { point: "tool:executed", step: "polish[2]/pass/draft", turn: 1 },
  { point: "tool:receipt-stored", step: "polish[2]/pass/draft", turn: 1 },
  { point: "turn:before-commit", step: "polish[2]/pass/draft", turn: 1 },
  { point: "turn:committed", step: "polish[2]/pass/draft", turn: 1 },
  { point: "turn:committed", step: "polish[2]/pass/draft", turn: 2 },
  { point: "step:finished", step: "polish[2]/pass/draft", turn: 0 },
  { point: "step:begun", step: "polish[2]/pass/note", turn: 0 },
  // Code that was not finished runs again; what it left in its context is not there twice.
  { point: "step:before-finish", step: "polish[2]/pass/note", turn: 0, notes: 2 },
  { point: "step:finished", step: "polish[2]/pass/note", turn: 0 },
  { point: "loop:decided", step: "polish", turn: 2 },
];

describe("a loop of three iterations, killed in the second", () => {
  test.for(INSIDE_THE_SECOND)(
    "does not run the first again ($point, $step, turn $turn)",
    async ({ notes, ...crash }) => {
      const folder = crashFolder();
      await folder.killed({ scenario: "story", act: RUN, crash });
      const result = await folder.result({ scenario: "story", act: RESUME });

      expect(withoutUsage(result)).toEqual({ ...withoutUsage(unbroken), resumed: true });
      assertOnce(folder, [0, 1, 3]);
      assertLoop(folder, (notes ?? 1) - 1);
      await assertApart(folder);
    },
  );

  test("does not run the first again when it is killed there again and again", async () => {
    const folder = crashFolder();
    const step = "polish[2]/pass/draft";
    await folder.killed({ scenario: "story", act: RUN, crash: { point: "turn:journaled", step } });
    await folder.killed({ scenario: "story", act: RESUME, crash: { point: "step:begun", step: "polish" } });
    await folder.killed({
      scenario: "story",
      act: RESUME,
      crash: { point: "turn:committed", step, turn: 1 },
    });
    await folder.killed({ scenario: "story", act: RESUME, crash: { point: "loop:decided", turn: 2 } });
    const result = await folder.result({ scenario: "story", act: RESUME });

    expect(withoutUsage(result)).toEqual({ ...withoutUsage(unbroken), resumed: true });
    assertOnce(folder, [0, 1, 2, 3]);
    assertLoop(folder, 0);
    await assertApart(folder);
  });
});

describe("two agents in one pipeline", () => {
  test.for([
    { point: "turn:committed", step: "outline", turn: 2 },
    { point: "step:finished", step: "outline" },
    { point: "step:begun", step: "polish" },
    { point: "turn:before-open", step: "polish[1]/pass/draft" },
    { point: "turn:committed", step: "polish[1]/pass/draft", turn: 1 },
  ] as readonly CrashSite[])("the first is not run again ($point, $step)", async (crash) => {
    const folder = crashFolder();
    await folder.killed({ scenario: "story", act: RUN, crash });
    const result = await folder.result({ scenario: "story", act: RESUME });
    expect(withoutUsage(result)).toEqual({ ...withoutUsage(unbroken), resumed: true });
    assertOnce(folder, [0, 1, 2, 3]);
    assertLoop(folder, 0);
    await assertApart(folder);
  });
});

test.for([
  { point: "loop:decided", step: "polish", turn: 3 },
  { point: "step:before-finish", step: "polish" },
  { point: "step:finished", step: "polish" },
  { point: "step:finished", step: "publish" },
] as readonly CrashSite[])("a loop that is done is not begun again ($point, $step)", async (crash) => {
  const folder = crashFolder();
  await folder.killed({ scenario: "story", act: RUN, crash });
  const result = await folder.result({ scenario: "story", act: RESUME });
  expect(withoutUsage(result)).toEqual({ ...withoutUsage(unbroken), resumed: true });
  assertOnce(folder, [0, 1, 2, 3]);
  assertLoop(folder, 0);
});

/** The agents (by their place in AGENTS) that did everything exactly once. */
function assertOnce(folder: CrashFolder, agents: readonly number[]): void {
  for (const agent of agents) {
    const label = labels[agent];
    const asked = folder.lines("asked").filter((line) => line.label === label);
    expect(asked.map(({ turn }) => turn)).toEqual([1, 2]);
    expect(folder.tries("pay", `${label}/1`)).toBe(1);
    expect(folder.effects("look", `${label}/1`)).toBe(1);
  }
}

/** Every decision was made once, and the notes were written once but for those in the second iteration. */
function assertLoop(folder: CrashFolder, extraNotes: number): void {
  const details = (name: string) =>
    folder
      .lines("code")
      .filter((line) => line.name === name)
      .map(({ detail }) => detail);
  expect(details("until")).toEqual(["1", "2", "3"]);
  expect(details("note")).toHaveLength(3 + extraNotes);
  expect(new Set(details("note")).size).toBe(3);
  expect(details("publish")).toEqual(["3"]);
}

/** Each instance has its own turns, its own history and its own keys. */
async function assertApart(folder: CrashFolder): Promise<void> {
  // Each shipped a parcel of its own, though all of them are alike.
  expect(folder.outside()).toHaveLength(2 * AGENTS.length);
  expect(folder.outside().filter((entry) => entry === "shipped parcel")).toHaveLength(AGENTS.length);
  const tried = folder.lines("tried");
  expect(new Set(tried.map(({ key }) => key)).size).toBe(3 * AGENTS.length);
  for (const { stepId, turn, turnKey } of tried) {
    const path = stepId.slice("story-1/".length);
    expect(AGENTS).toContain(path);
    expect(turnKey).toBe(createHash("sha256").update(`story-1:${path}:${turn}`).digest("hex"));
  }
  await folder.withStore(async (store) => {
    const turns = await store.listTurns("story-1");
    expect(turns.map(({ stepPath, turnIndex }) => `${stepPath} ${turnIndex}`)).toEqual(
      AGENTS.flatMap((path) => [`${path} 1`, `${path} 2`]),
    );
    for (const [i, path] of AGENTS.entries()) {
      const history = await store.readHistory("story-1", path);
      expect(history.map(({ role }) => role)).toEqual([
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "assistant",
      ]);
      expect(history[1]?.content).toBe(labels[i]);
    }
  });
}

function withoutUsage({ usage: _, ...result }: ReportedResult) {
  return result;
}
