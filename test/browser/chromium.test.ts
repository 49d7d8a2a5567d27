import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { browserForTests } from "./browser-tests.ts";

const browser = browserForTests();

async function listen(headers: Readonly<Record<string, string>> = {}, body = "hi"): Promise<string> {
  const server = createServer((_, response) =>
    response.writeHead(200, { "content-type": "text/html", ...headers }).end(body),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("the browser of the tests enforces the same-origin policy", async () => {
  const [here, elsewhere] = await Promise.all([listen(), listen()]);
  const { context } = await browser.newContext();
  const page = await context.newPage();
  await page.goto(here);
  const ask = (url: string) => page.evaluate(`fetch("${url}").then((r) => r.text(), () => "refused")`);
  expect(await ask(here)).toBe("hi");
  expect(await ask(elsewhere)).toBe("refused");
});

it("the browser of the tests reaches nothing by name", async () => {
  const { context } = await browser.newContext();
  const page = await context.newPage();
  await expect(page.goto("http://localhost/")).rejects.toThrow("ERR_NAME_NOT_RESOLVED");
});

it.each(["content-security-policy", "content-security-policy-report-only"])(
  "what a page does against its %s is an error of the test",
  async (policy) => {
    const here = await listen({ [policy]: "img-src 'none'" }, '<img src="/picture.png">');
    const tab = await (await browser.newContext()).newTab(here);
    tab.expectError(/img-src/);
    await tab.page.goto(here);
    await expect
      .poll(() => tab.errors)
      .toContainEqual(expect.stringMatching(/^refused by the policy: img-src/));
  },
);
