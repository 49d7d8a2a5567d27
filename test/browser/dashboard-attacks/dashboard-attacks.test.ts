// Texts of models, tools, people and files that try to be more than text, on every page of the dashboard.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { visibleLine } from "../../../src/core/visible-text.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { browserForTests } from "../browser-tests.ts";
import { builtDashboard } from "../built-dashboard.ts";
import { DashboardWorld } from "../dashboard/dashboard-world.ts";
import {
  ATTACK_TEXTS,
  type AttackText,
  deepList,
  LONG_TEXT,
  MANY_ATTACKS,
  wideObject,
} from "./attack-texts.ts";
import { AttackedPage } from "./attacked-page.ts";
import { plantPeople, plantSchedules, reportWorkers } from "./planted-house.ts";
import { type Planted, plantText, plantValues } from "./planted-runs.ts";

const browser = browserForTests();
const folder = mkdtempSync(join(tmpdir(), "pawl-attacks-"));
const LONG = { timeout: 300_000 };
/** A page paints within a second; twice of that on a busy machine. */
const FIRST_PAINT_MS = 2_000;
const VIEWS = [
  "timeline",
  "transcript",
  "ledger",
  "log",
  ...(IS_FULL_TEST ? ["timeline&table=1", "transcript&raw=1", "money"] : []),
];
const TEXTS = IS_FULL_TEST ? ATTACK_TEXTS : [MANY_ATTACKS];

let world: DashboardWorld;
let ground: { readonly store: DashboardWorld["store"]; readonly workspaceRoot: string };

beforeAll(async () => {
  world = await DashboardWorld.start(folder, await builtDashboard());
  ground = { store: world.store, workspaceRoot: join(folder, "workspaces") };
}, 120_000);
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A tab of a person with this name. */
async function openTab(name: string): Promise<AttackedPage> {
  const tab = await world.signIn(await browser.newContext(), name, "admin");
  return new AttackedPage(tab.page);
}

/** The harm on each of these pages, in one theme after the other: what a text may do does not depend on its colour. */
async function harmOn(attacked: AttackedPage, paths: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [index, path] of paths.entries()) {
    const colorScheme = index % 2 === 0 ? "light" : "dark";
    await attacked.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const paintMs = await attacked.open(world.url + path, contentOf(path));
    if (IS_FULL_TEST && paintMs > FIRST_PAINT_MS) found.push(`${path}: painted after ${paintMs} ms`);
    found.push(...(await attacked.harm()).map((harm) => `${path}: ${harm}`));
  }
  return [...new Set(found)];
}

/** What a page has once it knows the run or the wait that it is about. */
function contentOf(path: string): string {
  if (/^\/runs\/[\w-]+\?/.test(path)) return 'nav[aria-label="Views"]';
  return /^\/waits\/[\w~-]+$/.test(path) ? "article" : "main h1";
}

const runPath = (runId: string, view: string) => `/runs/${encodeURIComponent(runId)}?view=${view}`;
const waitPath = (waitId: string) => `/waits/${encodeURIComponent(waitId)}`;
const comparePath = (a: string, b: string) => `/compare?${new URLSearchParams({ a, b }).toString()}`;

/** The pages of what was planted: each view once, and in the full test also two of each run. */
function pathsOf({ runIds, waitIds }: Planted): readonly string[] {
  const [first = "", second = ""] = runIds;
  const viewsOf = (at: number) => VIEWS.filter((_, view) => view % 4 === at % 4);
  const more = runIds.flatMap((runId, at) => viewsOf(at).map((view) => runPath(runId, view)));
  const each = VIEWS.map((view, at) => runPath(runIds[at] ?? first, view));
  const paths = [...each, ...waitIds.map(waitPath)];
  return IS_FULL_TEST ? [...new Set([...paths, ...more]), comparePath(first, second)] : paths;
}

it.each(TEXTS)("keeps $id a text on the pages of its runs", LONG, async (attack: AttackText) => {
  const { id, text } = attack;
  const planted = await plantText(ground, attack);
  const attacked = await openTab(text);
  expect(await harmOn(attacked, pathsOf(planted))).toEqual([]);
  // What is not shown does no harm: the beginning of the text is there to read.
  const log = runPath(`${id}-asks`, "log");
  await attacked.open(world.url + log, contentOf(log));
  expect(visibleLine(await attacked.text())).toContain(visibleLine(text).slice(0, 10));
  // However much a text reads like an answer, the question is open.
  for (const path of planted.waitIds.filter((each) => each.startsWith(`${id}-pays`)).map(waitPath)) {
    await attacked.open(world.url + path, contentOf(path));
    expect(await attacked.page.getByRole("button", { name: "Approve", exact: true }).count()).toBe(1);
  }
});

it("keeps texts of runs, workers, schedules and people texts on the pages that list them", LONG, async () => {
  await plantSchedules(world.store, TEXTS);
  await plantPeople(world.store, TEXTS);
  const tab = await world.signIn(await browser.newContext(), "ana", "admin");
  // The runs and waits of these ids do not exist.
  tab.expectError(/the server responded with a status of 40[04]/);
  const attacked = new AttackedPage(tab.page);
  const text = "<img src=x onerror=window.pwned=1>\u202e";
  const paths = [
    `/?${new URLSearchParams({ q: text, view: "all" }).toString()}`,
    "/waits",
    "/workers",
    `/schedules?name=${TEXTS[0]?.id}`,
    "/access?view=audit",
  ];
  const inFull = [
    "/?view=all",
    "/spend",
    "/health",
    "/access",
    "/compare",
    comparePath(text, "javascript:window.pwned=1"),
    runPath(text, "log"),
    waitPath(text),
    `/nowhere/${encodeURIComponent(text)}`,
  ];
  const found: string[] = [];
  for (const path of [...paths, ...(IS_FULL_TEST ? inFull : [])]) {
    await reportWorkers(world.store, TEXTS);
    found.push(...(await harmOn(attacked, [path])));
  }
  expect(found).toEqual([]);
});

describe.runIf(IS_FULL_TEST)("of a value that is large", () => {
  // The deepest and the widest that a run takes: what is more is refused where it comes in.
  const VALUES = {
    long: { value: LONG_TEXT, argument: LONG_TEXT },
    deep: { value: deepList(390), argument: deepList(390) },
    "deep-text": { value: "[".repeat(10_000) + "]".repeat(10_000), argument: "[".repeat(10_000) },
    wide: { value: wideObject(100_000), argument: wideObject(7_000) },
  };
  it.each(Object.entries(VALUES))("shows a %s one on the pages of its run", LONG, async (id, values) => {
    const planted = await plantValues(ground, `value-${id}`, values);
    expect(planted.waitIds).toHaveLength(1);
    const paths = [...VIEWS.map((view) => runPath(`value-${id}`, view)), ...planted.waitIds.map(waitPath)];
    expect(await harmOn(await openTab("ana"), [...paths, "/?view=all", "/waits"])).toEqual([]);
  });
});
