// What people do on the dashboard, in a real browser on a real server that is killed.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildDashboard } from "../../../scripts/build-dashboard.ts";
import { browserForTests } from "../browser-tests.ts";
import { brokenRules, DashboardWorld } from "./dashboard-world.ts";

const browser = browserForTests();
const folder = mkdtempSync(join(tmpdir(), "pawl-dashboard-"));
let world: DashboardWorld;

beforeAll(async () => {
  await buildDashboard(join(folder, "files"));
  world = await DashboardWorld.start(folder, join(folder, "files"));
}, 120_000);
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

const WAIT = { timeout: 15_000 };

it("signs a person in by a code once, and keeps the code out of the address", async () => {
  const code = await world.codeFor("ana", "operator");
  const [first, second] = [await browser.newContext(), await browser.newContext()];
  const tab = await first.newTab(world.url);
  tab.expectError(/401/);
  await tab.page.goto(`${world.url}/#code=${code}`);
  await expect.poll(() => tab.page.getByText("There are no runs yet").count(), WAIT).toBe(1);
  expect(tab.page.url()).toBe(`${world.url}/`);
  const thief = await second.newTab(world.url);
  thief.expectError(/401/);
  await thief.page.goto(`${world.url}/#code=${code}`);
  await expect.poll(() => thief.page.getByText("Sign in to Pawl").count(), WAIT).toBe(1);
  expect(await thief.page.getByText("was not accepted").count()).toBe(1);
});

it("shows runs of other processes as they change, without a reload", async () => {
  const { page } = await world.signIn(await browser.newContext(), "ana", "operator", "/?view=all");
  await world.runner.enqueue("7", { runId: "live-1" });
  const row = page.getByRole("row").filter({ hasText: "live-1" });
  // A run that is new does not move what is read: it is behind a chip, unless the list was empty.
  await expect
    .poll(async () => (await row.count()) + (await page.getByText(/\d+ new/).count()), WAIT)
    .toBeGreaterThan(0);
  if ((await row.count()) === 0) await page.getByText(/\d+ new/).click();
  await expect.poll(() => row.innerText(), WAIT).toContain("queued");
  await world.work("live-1");
  await expect.poll(() => row.innerText(), WAIT).toContain("waiting");
});

it("approves exactly what was shown, and tells the slower of two people who was faster", async () => {
  const waitId = await world.waitingRun("pay-1", "41");
  const path = `/waits/${encodeURIComponent(waitId)}`;
  const ana = await world.signIn(await browser.newContext(), "ana", "operator", path);
  const ben = await world.signIn(await browser.newContext(), "ben", "operator", path);
  for (const { page } of [ana, ben]) {
    await expect
      .poll(() => page.getByRole("region", { name: "Arguments" }).innerText(), WAIT)
      .toContain("41");
    await page.getByRole("button", { name: /^Approve/ }).click();
  }
  ben.expectError(/409/);
  await ana.page
    .getByRole("dialog")
    .getByRole("button", { name: /^Approve/ })
    .click();
  await expect.poll(async () => (await world.store.listWaits("pay-1")).at(0)?.answeredBy, WAIT).toBe("ana");
  await ben.page
    .getByRole("dialog")
    .getByRole("button", { name: /^Approve/ })
    .click();
  await expect.poll(() => ben.page.getByRole("article").innerText(), WAIT).toContain("ana");
  const before = world.refunds.length;
  await world.work("pay-1");
  expect(world.refunds.slice(before)).toEqual(["41"]);
  await world.store.verify("pay-1").then(({ problems }) => expect(problems).toEqual([]));
  const acts = (await world.store.listAudit({ act: "approveWait" })).map(({ who, status }) => [
    who.name,
    status,
  ]);
  expect(Object.fromEntries(acts)).toEqual({ ana: 200, ben: 409 });
});

it("has no buttons for a person who may only look", async () => {
  const waitId = await world.waitingRun("look-1", "42");
  const { page } = await world.signIn(
    await browser.newContext(),
    "vera",
    "viewer",
    `/waits/${encodeURIComponent(waitId)}`,
  );
  await expect.poll(() => page.getByRole("region", { name: "Arguments" }).innerText(), WAIT).toContain("42");
  expect(await page.getByRole("button", { name: /^(Approve|Deny)/ }).count()).toBe(0);
});

it("is live again by itself after kill -9 of the server, and shows what happened meanwhile", async () => {
  await world.runner.enqueue("8", { runId: "killed-1" });
  const tab = await world.signIn(await browser.newContext(), "ana", "operator", "/runs/killed-1");
  tab.expectError(
    /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|network error/i,
  );
  await expect.poll(() => tab.page.getByText("queued").count(), WAIT).toBeGreaterThan(0);
  await world.killServer();
  await expect
    .poll(() => tab.page.getByRole("status").first().innerText(), WAIT)
    .toMatch(/reconnecting|offline/);
  // What was read stays on the screen.
  expect(await tab.page.getByRole("heading", { name: "killed-1" }).count()).toBe(1);
  await world.work("killed-1");
  await world.startServer();
  await expect.poll(() => tab.page.getByRole("status").first().innerText(), WAIT).toBe("live");
  await expect.poll(() => tab.page.getByText("waiting").count(), WAIT).toBeGreaterThan(0);
});

it.each(["light", "dark"] as const)(
  "breaks no rule of accessibility on its pages (%s)",
  async (colorScheme) => {
    const waitId = await world.waitingRun(`axe-${colorScheme}`, "43");
    const { page } = await world.signIn(await browser.newContext(), "ana", "admin");
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const paths = [
      "/?view=all",
      "/runs/pay-1",
      "/runs/pay-1?view=transcript",
      "/runs/pay-1?view=ledger",
      `/waits/${encodeURIComponent(waitId)}`,
      "/spend",
      "/health",
      "/workers",
      "/schedules",
      "/access",
    ];
    const broken: string[] = [];
    for (const path of paths) {
      await page.goto(world.url + path);
      await expect.poll(() => page.getByRole("heading").count(), WAIT).toBeGreaterThan(0);
      await expect.poll(() => page.getByRole("status").first().innerText(), WAIT).toBe("live");
      broken.push(...(await brokenRules(page)).map((rule) => `${path} ${rule}`));
    }
    expect(broken).toEqual([]);
  },
);
