import type { Page } from "playwright-core";

/** The widths that pages are made for. */
const WIDTHS = [1280, 360] as const;

/** The widths at which a page is wider than its window, with what sticks out. It is left at the first one. */
export async function tooWide(page: Page): Promise<readonly string[]> {
  const found: string[] = [];
  for (const width of [...WIDTHS, WIDTHS[0]]) {
    await page.setViewportSize({ width, height: 800 });
    let wide = (await page.evaluate(WIDER)) as string | null;
    // What is drawn by its measured width follows the window a few frames later.
    for (let tries = 0; wide !== null && tries < 20; tries++)
      wide = (await page.evaluate(WIDER)) as string | null;
    if (wide !== null) found.push(`at ${width}: ${wide}`);
  }
  return [...new Set(found)];
}

/** In the page, after a frame. */
const WIDER = `new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth <= clientWidth) return resolve(null);
  const out = [...document.body.querySelectorAll("*")].filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    return right > clientWidth + 1 && right - left > 0;
  });
  const named = out.slice(-3).map(({ tagName, className, textContent }) =>
    tagName + "." + String(className).slice(0, 80) + " " + JSON.stringify((textContent ?? "").slice(0, 40)));
  resolve(scrollWidth + " in " + clientWidth + ": " + named.join(" | "));
})))`;
