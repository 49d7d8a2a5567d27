import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createTransport } from "nodemailer";
import { describe, expect, test } from "vitest";
import type { DemoServices } from "../../src/demo/outside.ts";
import { readPage } from "../../src/demo/read-page.ts";
import { SITE_PAGES } from "../../src/demo/site-pages.ts";
import { testOutside } from "./demo-fixture.ts";

function put(outside: DemoServices, name: string, key: string, body: string): Promise<Response> {
  return fetch(`${outside.addresses.uploads}/${name}`, {
    method: "PUT",
    headers: { "idempotency-key": key },
    body,
  });
}

function notify(outside: DemoServices, key: string, body: string): Promise<Response> {
  return fetch(outside.addresses.notifications, {
    method: "POST",
    headers: { "idempotency-key": key },
    body,
  });
}

async function send(outside: DemoServices, messageId: string): Promise<void> {
  const transport = createTransport({ host: "127.0.0.1", port: outside.addresses.smtpPort, ignoreTLS: true });
  const mail = { from: "a@pawl.example", to: "b@pawl.example", subject: "Report", text: "Here it is." };
  await transport.sendMail({ ...mail, messageId: `<${messageId}>` });
  transport.close();
}

describe("the web site", () => {
  test("has a dozen pages of 120 to 200 words, all of which can be reached from the first", async () => {
    const { site } = await testOutside();
    const seen = new Map<string, number>();
    for (const left = [site.url]; left.length > 0; ) {
      const url = left.shift() ?? "";
      if (seen.has(url)) continue;
      const response = await fetch(url);
      expect(response.status).toBe(200);
      const page = readPage(await response.text(), url);
      expect(page.title).not.toBe("");
      seen.set(url, page.text.split(/\s+/).length);
      left.push(...page.links.map((link) => link.url));
    }
    expect(seen.size).toBe(12);
    const tooShortOrLong = [...seen].filter(([, words]) => words < 120 || words > 200);
    expect(tooShortOrLong).toEqual([]);
    expect(site.requests.toSorted()).toEqual(SITE_PAGES.map(({ path }) => path).toSorted());
  });

  test("counts each request of a page, and no missing pages", async () => {
    const { site } = await testOutside();
    expect((await fetch(`${site.url}verge`)).status).toBe(200);
    expect((await fetch(`${site.url}verge`)).status).toBe(200);
    expect((await fetch(`${site.url}hourglass`)).status).toBe(404);
    expect(site.requests).toEqual(["/verge", "/verge"]);
  });
});

describe("the upload service", () => {
  test("stores a file once for each key, and returns it", async () => {
    const outside = await testOutside();
    const first = await put(outside, "report.pdf", "k1", "one");
    const again = await put(outside, "report.pdf", "k1", "one");
    expect([first.status, again.status]).toEqual([201, 200]);
    const { location } = (await first.json()) as { location: string };
    expect(await again.json()).toEqual({ location });
    expect(await (await fetch(location)).text()).toBe("one");
    expect(outside.uploads.objects.size).toBe(1);
    expect(outside.uploads.requests).toEqual(["report.pdf", "report.pdf"]);

    await put(outside, "report.pdf", "k2", "two");
    expect(outside.uploads.objects.size).toBe(2);
  });

  test("refuses a file without a key, and answers 404 for an unknown key", async () => {
    const outside = await testOutside();
    const refused = await fetch(`${outside.addresses.uploads}/report.pdf`, { method: "PUT", body: "one" });
    expect(refused.status).toBe(400);
    expect((await fetch(`${outside.addresses.uploads}/k9`)).status).toBe(404);
    expect(outside.uploads.objects.size).toBe(0);
  });
});

test("the notification service shows each key once", async () => {
  const outside = await testOutside();
  const answers = [await notify(outside, "k1", "Done."), await notify(outside, "k1", "Done.")];
  expect(answers.map(({ status }) => status)).toEqual([202, 202]);
  expect([...outside.notifications.shown.values()]).toEqual(["Done."]);
  expect(outside.notifications.requests).toHaveLength(2);
});

describe("the mail service", () => {
  const id = `${"0123456789abcdef".repeat(4)}@pawl.example`;
  const lookUp = (outside: DemoServices) => fetch(`${outside.addresses.sentMail}/${encodeURIComponent(id)}`);

  test("delivers a mail twice if it is sent twice, and finds it by its id", async () => {
    const outside = await testOutside();
    expect((await lookUp(outside)).status).toBe(404);
    await send(outside, id);
    await send(outside, id);
    expect(outside.mail.accepted.map(({ messageId, to }) => ({ messageId, to }))).toEqual([
      { messageId: id, to: ["b@pawl.example"] },
      { messageId: id, to: ["b@pawl.example"] },
    ]);
    expect(await (await lookUp(outside)).json()).toEqual({ messageId: id, to: ["b@pawl.example"] });
    expect(outside.mail.lookUps).toEqual([id, id]);
  });

  test("does not accept an incomplete mail", async () => {
    const outside = await testOutside();
    const socket = connect(outside.addresses.smtpPort, "127.0.0.1");
    const heard: string[] = [];
    socket.setEncoding("utf8").on("data", (said: string) => heard.push(said));
    const until = async (reply: string) => {
      while (!heard.join("").includes(reply)) await sleep(1);
    };
    await until("220 ");
    socket.write("EHLO pawl.example\r\nMAIL FROM:<a@pawl.example>\r\nRCPT TO:<b@pawl.example>\r\nDATA\r\n");
    await until("354 ");
    socket.write(`Message-ID: <${id}>\r\n\r\nHalf a sen`);
    await new Promise<void>((resolve) => socket.once("close", resolve).destroySoon());
    // The next one is accepted; by then the server has handled the first.
    await send(outside, "whole@pawl.example");
    expect(outside.mail.accepted.map(({ messageId }) => messageId)).toEqual(["whole@pawl.example"]);
    expect((await lookUp(outside)).status).toBe(404);
  });
});

describe("an answer that is held back", () => {
  test.for([
    { effect: "page", act: (outside: DemoServices) => fetch(`${outside.site.url}fusee`), what: "/fusee" },
    { effect: "upload", act: (outside: DemoServices) => put(outside, "a.txt", "k", "a"), what: "a.txt" },
    { effect: "notification", act: (outside: DemoServices) => notify(outside, "k", "Done."), what: "Done." },
    {
      effect: "mail",
      act: (outside: DemoServices) => send(outside, "m@pawl.example"),
      what: "m@pawl.example",
    },
  ] as const)(
    "is sent after its effect, and not before it is released ($effect)",
    async ({ effect, act, what }) => {
      const outside = await testOutside();
      const reached = outside.hold.next(effect);
      let isAnswered = false;
      const answered = act(outside).then(() => {
        isAnswered = true;
      });
      expect(await reached).toBe(what);
      const { site, uploads, notifications, mail } = outside;
      const effects = [
        site.requests.length,
        uploads.objects.size,
        notifications.shown.size,
        mail.accepted.length,
      ];
      expect(effects.reduce((sum, count) => sum + count)).toBe(1);
      await sleep(30);
      expect(isAnswered).toBe(false);
      outside.hold.release();
      await answered;
      expect(isAnswered).toBe(true);
    },
  );

  test("is only the next one of the awaited effect", async () => {
    const outside = await testOutside();
    const page = outside.hold.next("page");
    // The planner reads the first page; the crawler must be killed.
    expect((await fetch(outside.site.url)).status).toBe(200);
    const behind = fetch(`${outside.site.url}verge`);
    expect(await page).toBe("/verge");
    outside.hold.release();
    expect((await behind).status).toBe(200);

    const reached = outside.hold.next("upload");
    expect((await notify(outside, "k", "Done.")).status).toBe(202);
    const held = put(outside, "a.txt", "k1", "a");
    await reached;
    expect((await put(outside, "b.txt", "k2", "b")).status).toBe(201);
    outside.hold.release();
    expect((await held).status).toBe(201);
  });
});
