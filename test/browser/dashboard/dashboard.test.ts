// What people do on the dashboard, in a real browser on a real server. `npm test` has the main journeys on SQLite, each with
// one look at its pages; all of them on both databases, in both themes and widths, with PAWL_TESTS=whole.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { IS_FULL_TEST, sampled } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { type PostgresServer, startPostgres } from "../../store/postgres/postgres-server.ts";
import { browserForTests } from "../browser-tests.ts";
import { builtDashboard } from "../built-dashboard.ts";
import { LOOKS } from "./accessibility.ts";
import { DashboardWorld, WAIT } from "./dashboard-world.ts";
import { JourneyTest } from "./journey.ts";
import { ANSWERING } from "./journeys/answering.ts";
import { LOOKING } from "./journeys/looking.ts";
import { RESUMING } from "./journeys/resuming.ts";
import { SETTLING } from "./journeys/settling.ts";
import { SIGNING_IN } from "./journeys/signing-in.ts";
import { WATCHING } from "./journeys/watching.ts";
import { schemaOf, sqliteIn } from "./test-database.ts";

// The first one finds a store without runs.
const JOURNEYS = [...SIGNING_IN, ...WATCHING, ...LOOKING, ...ANSWERING, ...SETTLING, ...RESUMING];
const DATABASES = IS_FULL_TEST ? (["SQLite", "PostgreSQL"] as const) : (["SQLite"] as const);

/** Fourteen pages, each in four looks. */
const LONG = { timeout: 400_000 };

const browser = browserForTests();
const folder = mkdtempSync(join(tmpdir(), "pawl-dashboard-"));
let dashboard = "";
beforeAll(async () => {
  dashboard = await builtDashboard();
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.for(DATABASES)("a person, on %s,", (database) => {
  let postgres: PostgresServer | null = null;
  let world: DashboardWorld;
  beforeAll(async () => {
    if (database === "PostgreSQL") postgres = await startPostgres();
    const own = join(folder, database);
    mkdirSync(own);
    const place = postgres === null ? sqliteIn(own) : schemaOf(postgres);
    world = await DashboardWorld.start(own, dashboard, place);
  }, 120_000);
  afterAll(async () => {
    await world.close();
    await postgres?.stop();
  });

  const chosen = IS_FULL_TEST ? JOURNEYS : JOURNEYS.filter(({ isMain }) => isMain === true);
  for (const [index, { title, run }] of chosen.entries())
    it(title, PATIENCE, async () => {
      const test = new JourneyTest(world, `j${index}`, () => browser.newContext());
      await run(test);
      await test.ends(sampled(LOOKS, LOOKS.length, index));
    });

  // Which database it is makes no difference to what a page looks like.
  const isFirst = database === "SQLite";
  it.runIf(isFirst)("finds no page that breaks a rule of accessibility", LONG, async () => {
    const runId = await world.worked("axe", [{ tool: "refund", input: { order: "43" } }]);
    const paths = [
      "/?view=all",
      `/runs/${runId}`,
      `/runs/${runId}?view=transcript`,
      `/runs/${runId}?view=ledger`,
      `/runs/${runId}?view=money`,
      `/runs/${runId}?view=log`,
      `/waits/${encodeURIComponent(await world.openWait(runId))}`,
      "/compare",
      "/spend",
      "/health",
      "/workers",
      "/schedules",
      "/access",
      "/access?view=audit",
    ];
    const test = new JourneyTest(world, "axe", () => browser.newContext());
    const ada = await test.person("ada", "admin");
    for (const [index, path] of sampled(paths).entries()) {
      await ada.goto(path);
      await expect.poll(() => ada.page.getByRole("heading").count(), WAIT).toBeGreaterThan(0);
      await test.ends(sampled(LOOKS, LOOKS.length, index));
    }
  });
});
