// `npm run pictures`: the pictures of the README and the docs, made of the demo's run on the real dashboard.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { servePawl } from "../src/server/http/serve-pawl.ts";
import { openStore } from "../src/store/open-store.ts";
import { launchChromium } from "../test/browser/chromium.ts";
import { buildDashboard } from "./build-dashboard.ts";

type Picture = {
  readonly name: string;
  readonly path: string;
  readonly height: number;
  /** What has to be there before it is taken. */
  readonly shown: (page: Page) => Promise<unknown>;
};

const PICTURES: readonly Picture[] = [
  {
    name: "timeline",
    path: "/runs/clockwork",
    height: 860,
    shown: (page) => page.getByText("· died").first().waitFor(),
  },
  {
    name: "ledger",
    path: "/runs/clockwork?view=ledger",
    height: 640,
    shown: (page) => page.getByText("reconciled").first().waitFor(),
  },
];

const root = resolve(import.meta.dirname, "..");
const target = join(root, "docs/images");
const folder = mkdtempSync(join(tmpdir(), "pawl-pictures-"));
mkdirSync(target, { recursive: true });
try {
  // The same seed is the same story.
  const demo = ["src/cli/main.ts", "demo", "--seed", "7", "--keep", join(folder, "demo")];
  await promisify(execFile)(process.execPath, demo, { cwd: root });
  await buildDashboard(join(folder, "files"));
  const store = await openStore(`file:${join(folder, "demo/pawl.db")}`);
  const server = await servePawl({
    store,
    storeName: "pawl.db",
    port: 0,
    dashboard: join(folder, "files"),
  });
  try {
    await takeAll(server.url, await server.loginUrl({ name: "ana" }));
  } finally {
    await server.close();
    await store.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function takeAll(url: string, loginUrl: string): Promise<void> {
  const browser = await launchChromium();
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    await page.goto(loginUrl);
    await page.getByText("live", { exact: true }).waitFor();
    for (const { name, path, height, shown } of PICTURES)
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.setViewportSize({ width: 1280, height });
        await page.goto(url + path);
        await page.getByText("live", { exact: true }).waitFor();
        await shown(page);
        const file = join(target, `${name}-${colorScheme}.png`);
        await page.screenshot({ path: file, animations: "disabled" });
        console.log(`Took docs/images/${name}-${colorScheme}.png.`);
      }
  } finally {
    await browser.close();
  }
}
