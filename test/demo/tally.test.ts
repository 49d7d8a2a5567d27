import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { readJobFile } from "../../src/cli/job/job-file.ts";
import { writeJobFile } from "../../src/demo/demo.ts";
import { jobPipeline, jobStopConditions } from "../../src/demo/job-pipeline.ts";
import type { ProcessLife } from "../../src/demo/killed-job.ts";
import { type DemoServices, openOutside } from "../../src/demo/outside.ts";
import { scriptedResearcher } from "../../src/demo/scripted-researcher.ts";
import { type Ledger, readLedger, type Tally, tallyOf } from "../../src/demo/tally.ts";
import { Runner } from "../../src/engine/runner/runner.ts";
import { openStore } from "../../src/store/open-store.ts";
import { asked, at, committed, entered, finished, life, skipped, stands } from "./lives.ts";

const TURNS = { plan: 2, crawl: 6, synthesise: 3 };
const CODE = ["render", "upload", "send", "notify"];

const ALL = [
  ...Object.entries(TURNS).flatMap(([phase, turns]) =>
    Array.from({ length: turns }, (_, i) => asked(phase, i + 1)),
  ),
  ...CODE.map(entered),
];

const DONE = { pages: 12, modelCalls: 11, files: 2, uploads: 2, mails: 1, notifications: 1 };

/** A job that ran in one process, with nothing wrong. It is never changed: faulty versions are copies. */
let outside: DemoServices;
let ledger: Ledger;

beforeAll(async () => {
  outside = await openOutside();
  const folder = mkdtempSync(join(tmpdir(), "pawl-demo-test-"));
  const store = await openStore(":memory:");
  try {
    writeJobFile(folder, outside);
    const { spec } = await readJobFile(join(folder, "job.yaml"));
    const pipeline = jobPipeline(scriptedResearcher(), outside.addresses, "reader@pawl.example");
    const options = { store, workspaceRoot: folder, stopConditions: jobStopConditions };
    await new Runner(pipeline, options).run(spec.input, { runId: "job-1", spec });
    ledger = await readLedger(store, "job-1");
  } finally {
    await store.close();
    await outside.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

function wrongIn({ rows, problems }: Tally): string[] {
  return [...rows.filter(({ isRight }) => !isRight).map(({ what }) => what), ...problems];
}

test("a job without a kill is right, and restarting would have done the same", () => {
  const tally = tallyOf(outside, [life(ALL, null, DONE)], ledger);
  expect(wrongIn(tally)).toEqual([]);
  expect(
    tally.rows.map(({ what, wanted, seen, startingOver }) => [what, wanted, seen, startingOver]),
  ).toEqual([
    ["pages read", 12, 12, 12],
    ["model calls", 11, 11, 11],
    ["report files", 2, 2, 2],
    ["uploads", 2, 2, 2],
    ["mails", 1, 1, 1],
    ["notifications", 1, 1, 1],
  ]);
});

test("restarting costs the sum of what was done at each kill and at the end", () => {
  const lives = [
    life(ALL.slice(0, 5), at("crawl", "turn:committed"), { pages: 7, modelCalls: 5 }),
    life(ALL.slice(5, 14), at("send", "tool:executed"), { ...DONE, notifications: 0 }),
    life(ALL.slice(14), null, DONE),
  ];
  const { rows } = tallyOf(outside, lives, ledger);
  expect(rows.map(({ startingOver }) => startingOver)).toEqual([31, 27, 4, 4, 2, 1]);
});

/** The services after one more effect. */
type Plant = { readonly what: string; readonly wrong: readonly string[]; readonly plant: () => DemoServices };

test.for<Plant>([
  {
    what: "a page with a receipt is read again",
    wrong: ["pages read", "/verge was read 2 times, with 1 calls and 0 lost attempts"],
    plant: () => ({ ...outside, site: { ...outside.site, requests: [...outside.site.requests, "/verge"] } }),
  },
  {
    what: "a file is stored a second time",
    wrong: ["uploads"],
    plant: () => {
      const { uploads } = outside;
      const [first] = uploads.objects.values();
      if (first === undefined) throw new Error("Nothing was uploaded.");
      const objects = new Map([...uploads.objects, ["another key", first]]);
      return { ...outside, uploads: { ...uploads, objects, requests: [...uploads.requests, first.name] } };
    },
  },
  {
    what: "a file arrives as something else",
    wrong: ["the upload of report.pdf differs from the artifact"],
    plant: () => {
      const { uploads } = outside;
      const objects = new Map(
        [...uploads.objects].map(([key, { name, bytes }]) => [
          key,
          { name, bytes: name === "report.pdf" ? bytes.slice(1) : bytes },
        ]),
      );
      return { ...outside, uploads: { ...uploads, objects } };
    },
  },
  {
    what: "the mail arrives twice",
    wrong: ["mails"],
    plant: () => {
      const { mail } = outside;
      return { ...outside, mail: { ...mail, accepted: [...mail.accepted, ...mail.accepted] } };
    },
  },
  {
    what: "the mail arrives without its report",
    wrong: ["the PDF in the mail differs from the artifact"],
    plant: () => {
      const { mail } = outside;
      const accepted = mail.accepted.map((each) => ({ ...each, raw: each.raw.slice(0, -500) }));
      return { ...outside, mail: { ...mail, accepted } };
    },
  },
  {
    what: "people are notified twice",
    wrong: ["notifications"],
    plant: () => {
      const { notifications } = outside;
      const shown = new Map([...notifications.shown, ["another key", "Done."]]);
      return { ...outside, notifications: { ...notifications, shown } };
    },
  },
])("the tally detects that $what", ({ plant, wrong }) => {
  expect(wrongIn(tallyOf(plant(), [life(ALL, null, DONE)], ledger))).toEqual(wrong);
});

test.for<{
  readonly how: string;
  readonly wrong: readonly string[];
  readonly messages: ProcessLife["messages"];
}>([
  {
    how: "the model is asked for a turn that was committed",
    wrong: ["model calls"],
    messages: [...ALL.slice(0, 2), asked("plan", 2), ...ALL.slice(2)],
  },
  {
    how: "the model is not asked as often as there are turns",
    wrong: ["model calls"],
    messages: ALL.slice(1),
  },
  {
    how: "the model is asked for a turn that was reported as committed",
    wrong: ["model calls", "the model was asked for turn 1 of plan after it was committed"],
    messages: [asked("plan", 1), committed("plan", 1), ...ALL],
  },
  {
    how: "a finished phase is entered again",
    wrong: ["upload was entered again after it was finished"],
    messages: [...ALL, finished("upload"), entered("upload")],
  },
  {
    how: "a phase is entered again that was found finished before",
    wrong: ["upload was entered again after it was finished"],
    messages: [...ALL, skipped("upload"), entered("upload")],
  },
  {
    how: "a phase is entered again whose process died right after it was finished",
    wrong: ["notify was entered again after it was finished"],
    messages: [...ALL, stands("notify", "step:finished"), entered("notify")],
  },
])("the messages of the processes show that $how", ({ messages, wrong }) => {
  expect(wrongIn(tallyOf(outside, [life(messages, null, DONE)], ledger))).toEqual(wrong);
});

test("the tally detects a succeeded run with an unfinished phase", () => {
  const steps = ledger.steps
    .filter(({ path }) => path !== "send")
    .map((step) => (step.path === "notify" ? { ...step, status: "running" as const } : step));
  expect(wrongIn(tallyOf(outside, [life(ALL, null, DONE)], { ...ledger, steps }))).toEqual([
    "send is missing at the end instead of succeeded",
    "notify is running at the end instead of succeeded",
  ]);
});

test("the tally detects a changed row, or a file stored twice", () => {
  const problems = [{ row: "event 3", what: "it was changed" }];
  const verification = { ...ledger.verification, problems };
  const kept = ledger.events.filter(({ type }) => type === "artifact.kept").slice(0, 1);
  const changed = { ...ledger, verification, events: [...ledger.events, ...kept] };
  expect(wrongIn(tallyOf(outside, [life(ALL, null, DONE)], changed))).toEqual([
    "report files",
    "event 3: it was changed",
  ]);
});
