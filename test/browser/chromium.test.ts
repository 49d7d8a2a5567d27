import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { browserForTests } from "./browser-tests.ts";

const browser = browserForTests();

async function listen(): Promise<string> {
  const server = createServer((_, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end("hi"),
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
