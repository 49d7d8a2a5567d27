import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sampled } from "../full-test.ts";
import { CrashFolder, crashFolder } from "./harness/crash-folder.ts";
import type { Act, Variant } from "./harness/worker-order.ts";

const RUN: Act = { do: "run", input: "town", runId: "report-1" };
const RESUME: Act = { do: "resume", runId: "report-1" };

type Shape = NonNullable<Variant["shape"]>;

/** Three steps; killed in the second one, an agent, with an answer whose tools have not run. */
let dead: CrashFolder;

beforeAll(async () => {
  dead = CrashFolder.make();
  await dead.killed({ scenario: "report", act: RUN, crash: { point: "turn:journaled", turn: 2 } });
  expect(dead.lines("code").map(({ name }) => name)).toEqual(["gather"]);
});

afterAll(() => dead.remove());

const REFUSED: readonly { changed: string; shape: Shape; messages: readonly string[] }[] = [
  {
    changed: "an earlier step is renamed",
    shape: [
      ["code", "collect"],
      ["agent", "errands"],
      ["code", "render"],
    ],
    messages: ["step 1 was gather (run) and is collect (run)"],
  },
  {
    changed: "an earlier step is of another kind",
    shape: [
      ["loop", "gather"],
      ["agent", "errands"],
      ["code", "render"],
    ],
    messages: ["step 1 was gather (run) and is gather (loop)"],
  },
  {
    changed: "an earlier step is gone",
    shape: [
      ["agent", "errands"],
      ["code", "render"],
    ],
    messages: ["step 1 was gather (run) and is errands (turn-loop)"],
  },
  {
    changed: "a step was put before it",
    shape: [
      ["code", "first"],
      ["code", "gather"],
      ["agent", "errands"],
      ["code", "render"],
    ],
    messages: ["step 1 was gather (run) and is first (run)"],
  },
  {
    changed: "the step itself is renamed",
    shape: [
      ["code", "gather"],
      ["agent", "chores"],
      ["code", "render"],
    ],
    messages: ["errands", "chores"],
  },
  {
    changed: "the step itself is of another kind",
    shape: [
      ["code", "gather"],
      ["code", "errands"],
      ["code", "render"],
    ],
    messages: ["errands (run)"],
  },
  {
    changed: "the step itself is gone",
    shape: [
      ["code", "gather"],
      ["code", "render"],
    ],
    messages: ["errands", "render (run)"],
  },
];

describe("a process with another pipeline is stopped before any call", () => {
  test.for(sampled(REFUSED))("if $changed", async ({ shape, messages }) => {
    const folder = dead.copy();
    const before = folder.witness();
    const error = await folder.error({ scenario: "report", act: RESUME, variant: { shape } });
    expect(error).toMatchObject({ name: "ResumeError", irrecoverable: true });
    for (const text of messages) expect(error.message).toContain(text);
    expect(error.message).toContain("No call was made");
    expect(folder.witness()).toEqual(before);

    expect(await folder.result({ scenario: "report", act: RESUME })).toMatchObject({ status: "succeeded" });
    assertEverythingOnce(folder, ["gather", "render"]);
  });

  test("if it changed after an earlier process had started to resume, and died", async () => {
    const folder = crashFolder();
    const act: Act = { do: "run", input: "town", runId: "story-1" };
    const again: Act = { do: "resume", runId: "story-1" };
    // Died inside the loop; the next one died when it had only entered the loop again.
    await folder.killed({
      scenario: "story",
      act,
      crash: { point: "turn:journaled", step: "polish[2]/pass/draft" },
    });
    await folder.killed({ scenario: "story", act: again, crash: { point: "step:begun", step: "polish" } });
    const before = folder.witness();
    const error = await folder.error({ scenario: "story", act: again, variant: { draftName: "sketch" } });
    expect(error).toMatchObject({ name: "ResumeError", irrecoverable: true });
    expect(error.message).toContain("sketch");
    expect(folder.witness()).toEqual(before);
  });

  test("if a step of a loop is renamed that an earlier iteration has run", async () => {
    const folder = crashFolder();
    const act: Act = { do: "run", input: "town", runId: "story-1" };
    await folder.killed({
      scenario: "story",
      act,
      crash: { point: "turn:journaled", step: "polish[2]/pass/draft" },
    });
    const before = folder.witness();
    const error = await folder.error({
      scenario: "story",
      act: { do: "resume", runId: "story-1" },
      variant: { noteName: "remark" },
    });
    expect(error).toMatchObject({ name: "ResumeError", irrecoverable: true });
    expect(error.message).toContain("remark");
    expect(folder.witness()).toEqual(before);
  });
});

const ALLOWED: readonly { changed: string; shape: Shape; code: readonly string[] }[] = [
  {
    changed: "is renamed",
    shape: [
      ["code", "gather"],
      ["agent", "errands"],
      ["code", "print"],
    ],
    code: ["gather", "print"],
  },
  {
    changed: "is of another kind",
    shape: [
      ["code", "gather"],
      ["agent", "errands"],
      ["loop", "render"],
    ],
    code: ["gather", "inside"],
  },
  {
    changed: "is gone",
    shape: [
      ["code", "gather"],
      ["agent", "errands"],
    ],
    code: ["gather"],
  },
  {
    changed: "is new",
    shape: [
      ["code", "gather"],
      ["agent", "errands"],
      ["code", "check"],
      ["code", "render"],
    ],
    code: ["gather", "check", "render"],
  },
];

describe("a process with another pipeline resumes the run", () => {
  test.for(sampled(ALLOWED))("if a later step $changed", async ({ shape, code }) => {
    const folder = dead.copy();
    const result = await folder.result({ scenario: "report", act: RESUME, variant: { shape } });
    expect(result.status).toBe("succeeded");
    assertEverythingOnce(folder, code);
    const ran = code.filter((name) => name !== "inside");
    for (const name of ran) expect(result.context[name]).toBe(1);
  });

  test("if a step was inserted before the last, and the process died again in the last", async () => {
    const folder = dead.copy();
    const shape: Shape = [
      ["code", "gather"],
      ["agent", "errands"],
      ["code", "check"],
      ["agent", "render"],
    ];
    await folder.killed({
      scenario: "report",
      act: RESUME,
      variant: { shape },
      crash: { point: "turn:journaled", step: "render", turn: 2 },
    });
    const before = folder.witness();
    const error = await folder.error({ scenario: "report", act: RESUME });
    expect(error).toMatchObject({ name: "ResumeError", irrecoverable: true });
    expect(error.message).toContain("was check (run) and is render (run)");
    expect(folder.witness()).toEqual(before);

    const result = await folder.result({ scenario: "report", act: RESUME, variant: { shape } });
    expect(result.status).toBe("succeeded");
    expect(folder.lines("code").map(({ name }) => name)).toEqual(["gather", "check"]);
  });

  test("if a step was added at the end, and the process died again in it", async () => {
    const folder = dead.copy();
    const shape: Shape = [
      ["code", "gather"],
      ["agent", "errands"],
      ["loop", "render"],
      ["agent", "chores"],
    ];
    await folder.killed({
      scenario: "report",
      act: RESUME,
      variant: { shape },
      crash: { point: "turn:journaled", step: "chores", turn: 2 },
    });
    const result = await folder.result({ scenario: "report", act: RESUME, variant: { shape } });
    expect(result.status).toBe("succeeded");
    expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2, 3, 1, 2, 3]);
    expect(folder.lines("code").map(({ name }) => name)).toEqual(["gather", "inside"]);
    expect(folder.tries("pay")).toBe(4);
  });
});

function assertEverythingOnce(folder: CrashFolder, code: readonly string[]): void {
  expect(folder.lines("asked").map(({ turn }) => turn)).toEqual([1, 2, 3]);
  expect(folder.lines("code").map(({ name }) => name)).toEqual(code);
  expect(folder.outside()).toEqual(["town, gather/1", "town, gather/2"]);
  expect(folder.tries("pay")).toBe(2);
}
