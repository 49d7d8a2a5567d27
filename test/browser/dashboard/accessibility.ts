import AxeBuilder from "axe-core";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** How a page may be looked at. */
export type Look = { readonly colorScheme: "light" | "dark"; readonly width: 1280 | 360 };

export const LOOKS: readonly Look[] = [
  { colorScheme: "light", width: 1280 },
  { colorScheme: "dark", width: 360 },
  { colorScheme: "dark", width: 1280 },
  { colorScheme: "light", width: 360 },
];

/** Shows the page in this theme and width. */
export async function lookAt(page: Page, { colorScheme, width }: Look): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.setViewportSize({ width, height: 900 });
}

/** The rules of accessibility that a page breaks, in its present theme and width; and if it is wider than the window. */
export async function brokenRules(page: Page): Promise<readonly string[]> {
  await page.evaluate(AxeBuilder.source);
  const found = (await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")) as {
    readonly passes: readonly unknown[];
    readonly violations: readonly {
      readonly id: string;
      readonly nodes: readonly { readonly html: string }[];
    }[];
  };
  // A look that saw nothing proves nothing.
  expect(found.passes.length).toBeGreaterThan(5);
  const isWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
  return [
    ...found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`),
    ...(isWide === true ? ["wider than the window"] : []),
  ];
}
