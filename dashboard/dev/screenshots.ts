// Pictures of pages of a running server: `node dashboard/dev/screenshots.ts http://127.0.0.1:4747 /tmp/pictures / /waits`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launchChromium } from "../../test/browser/chromium.ts";

const [address = "http://127.0.0.1:4747", folder = "pictures", ...paths] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launchChromium();
for (const colorScheme of ["light", "dark"] as const) {
  for (const width of [1280, 360]) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } });
    const page = await context.newPage();
    page.on("console", (message) => message.type() === "error" && console.log(message.text()));
    page.on("pageerror", (error) => console.log(error.message));
    for (const path of paths) {
      await page.goto(address + path);
      await page.waitForTimeout(700);
      const name = path.replaceAll(/\W+/g, "-").replace(/^-|-$/g, "") || "runs";
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`) });
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      if (Number(overflow) > 0) console.log(`${path} is ${String(overflow)} px too wide at ${width}.`);
    }
    await context.close();
  }
}
await browser.close();
