import { readFile } from "node:fs/promises";
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import type { Role } from "../../../src/core/access/role.ts";
import type { Tab, TestContext } from "../browser-tests.ts";
import { brokenRules, type Look, lookAt } from "./accessibility.ts";
import { type DashboardWorld, isLive, NOT_SIGNED_IN, WAIT } from "./dashboard-world.ts";

/** What a person does on the dashboard, from its beginning to its end. */
export type Journey = {
  readonly title: string;
  readonly run: (test: JourneyTest) => Promise<void>;
  /** One of those in `npm test`. */
  readonly isMain?: true;
};

/** The people of a journey, each in a browser of their own, and what every journey ends with. */
export class JourneyTest {
  readonly world: DashboardWorld;
  /** Distinguishes the runs and queues of this journey from those of others. */
  readonly name: string;
  readonly #newContext: () => Promise<TestContext>;
  readonly #pages: Page[] = [];

  constructor(world: DashboardWorld, name: string, newContext: () => Promise<TestContext>) {
    this.world = world;
    this.name = name;
    this.#newContext = newContext;
  }

  /** A browser in which nobody is signed in, at an address of the server. */
  async stranger(address: string): Promise<Visitor> {
    const context = await this.#newContext();
    const tab = await context.newTab(this.world.url);
    tab.expectError(NOT_SIGNED_IN);
    await tab.page.goto(address);
    return this.#visitor(context, tab);
  }

  /** A person who has signed in, on a page that is live. */
  async person(name: string, role: Role, path = "/"): Promise<Visitor> {
    const context = await this.#newContext();
    return this.#visitor(context, await this.world.signIn(context, name, role, path));
  }

  /** Another tab of the same person. */
  async beside({ context }: Visitor, address: string): Promise<Visitor> {
    const tab = await context.newTab(this.world.url);
    await tab.page.goto(address);
    await isLive(tab.page);
    return this.#visitor(context, tab);
  }

  #visitor(context: TestContext, tab: Tab): Visitor {
    this.#pages.push(tab.page);
    return new Visitor(this.world, context, tab);
  }

  /** The end of every journey: no page that was left open breaks a rule of accessibility. */
  async ends(looks: readonly Look[]): Promise<void> {
    expect(this.#pages.length).toBeGreaterThan(0);
    const broken: string[] = [];
    for (const page of this.#pages) {
      // The code of a page is loaded when it is opened: before that there is nothing to look at.
      await page.locator("h1").first().waitFor(WAIT);
      for (const look of looks) {
        await lookAt(page, look);
        const rules = await brokenRules(page);
        broken.push(...rules.map((rule) => `${page.url()} ${look.colorScheme} ${look.width}: ${rule}`));
      }
    }
    expect(broken).toEqual([]);
  }
}

/** A person at a tab. */
export class Visitor {
  readonly page: Page;
  readonly context: TestContext;
  readonly #world: DashboardWorld;
  readonly #tab: Tab;

  constructor(world: DashboardWorld, context: TestContext, tab: Tab) {
    this.#world = world;
    this.context = context;
    this.#tab = tab;
    this.page = tab.page;
  }

  async goto(path: string): Promise<void> {
    await this.page.goto(this.#world.url + path);
    await this.isLive();
  }

  isLive(): Promise<void> {
    return isLive(this.page);
  }

  /** The address without the server. */
  get path(): string {
    return this.page.url().slice(this.#world.url.length);
  }

  get dialog(): Locator {
    return this.page.getByRole("dialog");
  }

  async press(name: string | RegExp, within: Page | Locator = this.page): Promise<void> {
    await within.getByRole("button", { name }).click();
  }

  /** Waits until there is such a text. */
  async sees(text: string | RegExp, within: Page | Locator = this.page): Promise<void> {
    await within.getByText(text).first().waitFor(WAIT);
  }

  /** The file that the browser saves. */
  async saves(act: () => Promise<void>): Promise<{ readonly name: string; readonly bytes: Buffer }> {
    const [download] = await Promise.all([this.page.waitForEvent("download", WAIT), act()]);
    // Rejects if it did not arrive whole.
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  }

  /** Sends a request as the page would, and returns the status of its answer. */
  async request(method: string, path: string, body?: unknown): Promise<number> {
    return this.page.evaluate(
      async ([how, where, what]) => {
        const response = await fetch(where ?? "", {
          method: how ?? "",
          ...(what === undefined ? {} : { body: what, headers: { "content-type": "application/json" } }),
        });
        return response.status;
      },
      [method, path, body === undefined ? undefined : JSON.stringify(body)] as const,
    );
  }

  /** A refusal is an error in the browser's console. */
  expectStatus(status: number): void {
    this.#tab.expectError(new RegExp(`the server responded with a status of ${status}`));
  }

  /** So is a server that is gone. */
  expectLostConnections(): void {
    this.#tab.expectError(/net::ERR_|network error/i);
  }
}
