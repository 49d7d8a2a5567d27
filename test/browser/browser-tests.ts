import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { launchChromium } from "./chromium.ts";

/** A tab, and what went wrong in it. */
export type Tab = {
  readonly page: Page;
  /** What was printed, requested elsewhere or refused by the policy of the page so far. */
  readonly errors: readonly string[];
  /** The errors that are part of the test: what a browser prints when a server is killed. */
  expectError(pattern: RegExp): void;
};

/** In the page, before its own code: what the policy of its server refuses, even where the browser prints nothing. */
const REPORTS_VIOLATIONS = `document.addEventListener("securitypolicyviolation", (event) => {
  console.error("refused by the policy: " + event.effectiveDirective + " " + event.blockedURI);
});`;

/** A browser for the tests of a file. */
export function browserForTests(): { newContext(): Promise<TestContext> } {
  let browser: Browser | null = null;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  return {
    newContext: async () => {
      if (browser === null) throw new Error("The browser was not started.");
      const context = await browser.newContext();
      onTestFinished(() => context.close());
      return new TestContext(context);
    },
  };
}

/** What one person has in their browser. Each test has its own. */
export class TestContext {
  readonly context: BrowserContext;

  constructor(context: BrowserContext) {
    this.context = context;
  }

  /** The test fails if an error is printed there, the policy refuses something, or something is requested from elsewhere. */
  async newTab(origin: string): Promise<Tab> {
    const page = await this.context.newPage();
    await page.addInitScript(REPORTS_VIOLATIONS);
    const errors: string[] = [];
    const expected: RegExp[] = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") errors.push(`${message.text()} (${message.location().url})`);
    });
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !/^(?:data|blob|about):/.test(url))
        errors.push(`requested ${url}`);
    });
    onTestFinished(() => {
      expect(errors.filter((error) => !expected.some((pattern) => pattern.test(error)))).toEqual([]);
    });
    return { page, errors, expectError: (pattern) => void expected.push(pattern) };
  }
}
