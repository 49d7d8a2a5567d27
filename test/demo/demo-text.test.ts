import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { DemoOutcome } from "../../src/demo/demo.ts";
import {
  closingText,
  type DemoOutput,
  documentOf,
  introduction,
  lifeText,
  outcomeText,
} from "../../src/demo/demo-text.ts";
import type { TallyRow } from "../../src/demo/tally.ts";
import { asked, at, finished, life, skipped, turn } from "./lives.ts";

function output(columns: number, useColour = false): DemoOutput {
  const stream = new PassThrough();
  return {
    stdout: {
      write: () => undefined,
      drained: () => Promise.resolve(),
      isTerminal: true,
      columns,
      isClosed: false,
      stream,
    },
    useColour,
  };
}

const right: TallyRow = {
  what: "mails",
  wanted: 1,
  seen: 1,
  startingOver: 3,
  note: "looked up once by the Message-ID",
  isRight: true,
};
const wrong: TallyRow = { ...right, what: "uploads", wanted: 2, seen: 3, note: null, isRight: false };

const LIVES = [
  life([asked("plan", 1)], at("plan", "model:answered", 1)),
  life([turn("plan", 1), asked("plan", 1), finished("plan"), skipped("plan")]),
];

function outcome(rows: readonly TallyRow[], problems: readonly string[] = []): DemoOutcome {
  return { lives: LIVES, tally: { rows, problems } };
}

test("the introduction names the model, and that a real one is charged", () => {
  const scripted = introduction(output(80), 7, { provider: "scripted" });
  expect(scripted).toMatch(/^ +seed +7$/m);
  expect(scripted).toContain("a script (set OPENAI_API_KEY");
  const real = introduction(output(80), 7, { provider: "openai", modelId: "gpt-x", key: "OPENAI_API_KEY" });
  expect(real).toContain("openai/gpt-x (OPENAI_API_KEY is set, and will be charged)");
});

test("each process is described by how it recovered and where it was killed", () => {
  const [first, second] = LIVES;
  if (first === undefined || second === undefined) throw new Error("There are two.");
  expect(lifeText(output(80), first, [])).toBe(
    "  plan        ✗ in turn 1: the model had answered, nothing was stored yet\n",
  );
  expect(lifeText(output(80), second, [first])).toContain("✓ process 2 finishes the job");
});

test("a problem is marked and named, and makes the outcome wrong", () => {
  const shown = outcomeText(output(80), outcome([right, wrong], ["notify was entered again"]));
  expect(shown).toMatch(/^ {2}mails +1 +1 +✓ +3$/m);
  expect(shown).toMatch(/^ {2}uploads +2 +3 +✗ +3$/m);
  expect(shown).toContain("✗ notify was entered again");
  expect(shown).toContain("✗ Something is wrong.");
  expect(shown).not.toContain("nothing was lost");
  expect(outcomeText(output(80), outcome([right]))).toContain(
    "✓ 1 kill, and nothing was lost or sent twice.",
  );
});

test("the document says the same", () => {
  const shown = documentOf(7, { provider: "scripted" }, "/tmp/x", outcome([wrong]));
  expect(shown).toMatchObject({ ok: false, seed: 7, folder: "/tmp/x", rows: [wrong], problems: [] });
  expect(documentOf(7, { provider: "scripted" }, "/tmp/x", outcome([right]))).toMatchObject({
    ok: true,
    deaths: [{ phase: "plan", point: "model:answered" }],
  });
});

test("nothing is wider than the terminal, and nothing is coloured without colours", () => {
  for (const columns of [40, 80, 200]) {
    const shown = [
      introduction(output(columns), 7, { provider: "scripted" }),
      ...LIVES.map((each, i) => lifeText(output(columns), each, LIVES.slice(0, i))),
      outcomeText(
        output(columns),
        outcome([right, wrong], ["notify was entered again after it was finished"]),
      ),
    ].join("");
    const lines = shown.split("\n");
    expect(lines.filter((line) => line.length > Math.min(columns, 80))).toEqual([]);
    expect(shown).not.toContain("\u001b");
  }
  expect(outcomeText(output(80, true), outcome([right]))).toContain("\u001b");
});

test("the commands can be pasted, whatever the folder is called", () => {
  expect(closingText(output(80), "/tmp/pawl", "npx pawl")).toContain(
    "  export PAWL_STORE=file:/tmp/pawl/pawl.db\n  npx pawl show clockwork\n",
  );
  expect(closingText(output(80), "/tmp/my pawl", "npx pawl")).toContain(
    'PAWL_STORE="file:/tmp/my pawl/pawl.db"',
  );
});
