import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { fetchPage } from "../../../src/adapters/tools/index.ts";
import { secret } from "../../../src/index.ts";
import { sampled } from "../../full-test.ts";
import { callTool, LOOPBACK, openService } from "./tool-fixture.ts";

const html =
  (body: string, head = "", type = "text/html; charset=utf-8") =>
  (response: ServerResponse) =>
    void response
      .writeHead(200, { "content-type": type })
      .end(`<!doctype html><html><head>${head}</head><body>${body}</body></html>`);

const PAGE = `
  <nav><a href="/">Home</a> <a href="/about">About</a></nav>
  <script>alert("no")</script><style>p { color: red }</style>
  <h1>Pawls</h1>
  <p>A <b>pawl</b> is a catch; see <a href="/ratchet?x=1&amp;y=2">ratchets</a> &amp; <a href="https://example.com/gear">gears</a>.</p>
  <h2>Kinds</h2>
  <ul><li>hinged</li><li>sliding</li></ul>
  <table><tr><th>Part</th><th>Count</th></tr><tr><td>tooth</td><td>12</td></tr></table>
  <img src="/big.png" alt="a picture">
`;

describe("fetch_page", () => {
  it("returns the text of a page with its headings and links, and without elements that are not text", async () => {
    const service = await openService(html(PAGE, "<title>All about\n pawls &amp; more</title>"));
    const { result, call } = await callTool(fetchPage, { url: `${service.url}/pawls` }, LOOPBACK);
    const { title, text } = result as { title: string; text: string };
    expect(title).toBe("All about pawls & more");
    expect(text).toContain("# Pawls\n");
    expect(text).toContain("## Kinds\n");
    expect(text).toContain(
      `A pawl is a catch; see ratchets [${service.url}/ratchet?x=1&y=2] & gears [https://example.com/gear].`,
    );
    expect(text).toMatch(/- hinged\n\s*- sliding/);
    expect(text).toContain("Part | Count\ntooth | 12");
    for (const unread of ["alert", "color", "About", "big.png"]) expect(text).not.toContain(unread);
    expect([call.effect, call.recovery]).toEqual(["read_only", "repeat"]);
    expect(service.seen[0]?.method).toBe("GET");
  });

  it("returns the final URL of a redirect", async () => {
    const service = await openService((response, { path }) =>
      path === "/old"
        ? void response.writeHead(302, { location: "/new" }).end()
        : html('<p><a href="next">on</a></p>')(response),
    );
    const { result } = await callTool(fetchPage, { url: `${service.url}/old` }, LOOPBACK);
    expect(result).toMatchObject({
      url: `${service.url}/old`,
      redirectedTo: `${service.url}/new`,
      text: `on [${service.url}/next]`,
    });
  });

  it("hides a secret in a title before it cuts it, and never cuts through a mark", async () => {
    const key = "k-123456-abcdef";
    const hiding = { ...LOOPBACK, policy: { secrets: [secret(key)], secretKeys: ["password"] } };
    const titled = await openService(html("<p>a</p>", `<title>${"x".repeat(292)}${key}</title>`));
    const { result } = await callTool(fetchPage, { url: titled.url }, hiding);
    expect(result).toMatchObject({ title: `${"x".repeat(292)}[secret]` });
    const page = await openService(
      (response) =>
        void response.writeHead(200, { "content-type": "text/plain" }).end(`ab "password":"1234" ${key} end`),
    );
    const cuts = Array.from({ length: 90 }, (_, from) =>
      [1, 9, 40].map((most) => ({ from, maxCharacters: most })),
    );
    for (const { from, maxCharacters } of cuts.flatMap((all, from) => sampled(all, 3, from))) {
      const { calls } = await callTool(fetchPage, { url: page.url, from, maxCharacters }, hiding);
      const text = JSON.stringify((calls[0]?.receipt?.output.value as { text?: string } | undefined)?.text);
      expect(text.replaceAll(/\[secret:[^\]]*\]/g, "")).not.toMatch(/[0-9a-f]{3}|secret|chara/);
    }
  });

  it("cuts a page whose short links become long URLs", async () => {
    const folder = `/${"a".repeat(14_000)}/`;
    const service = await openService((response, { path }) =>
      path === "/"
        ? void response.writeHead(302, { location: folder }).end()
        : html('<p><a href="b">c</a></p>'.repeat(300))(response),
    );
    const { result } = await callTool(fetchPage, { url: `${service.url}/`, from: 1_999_000 }, LOOPBACK);
    expect(result).toMatchObject({ note: "The page is too large: the rest of it was not read." });
    expect((result as { text: string }).text).toHaveLength(1_000);
  });

  it("returns a long page in parts that together are the whole", async () => {
    const words = Array.from({ length: 9_000 }, (_, i) => `wörd${i}`).join(" ");
    const service = await openService(html(`<p>${words}</p>`));
    const got: string[] = [];
    for (let from: number | null = 0; from !== null && got.length < 10; ) {
      const { result } = await callTool(fetchPage, { url: service.url, from }, LOOPBACK);
      const { text, note = "" } = result as { text: string; note?: string };
      expect(text.length).toBeLessThanOrEqual(20_000);
      got.push(text);
      const next = /continue with from (\d+)\.$/.exec(note)?.[1];
      from = next === undefined ? null : Number(next);
    }
    expect(got.length).toBeGreaterThan(2);
    expect(got.join("")).toBe(words);
  });

  it("reads at most two megabytes, and says so", async () => {
    const service = await openService((response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const more = () => {
        while (!response.destroyed && response.write("e".repeat(65_536)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });
    const { result } = await callTool(fetchPage, { url: service.url, maxCharacters: 10 }, LOOPBACK);
    expect(result).toMatchObject({ text: "eeeeeeeeee" });
    expect((result as { note: string }).note).toMatch(
      /^The page is too large: the rest of it was not read\. 1999990 more characters follow/,
    );
  });

  it.each([
    ["application/json", '{"a":[1,2]}'],
    ["application/ld+json; charset=utf-8", '{"@id":"x"}'],
    ["text/plain", "<b>as it is</b>"],
    ["text/markdown", "# as it is"],
  ])("returns %s unchanged", async (type, body) => {
    const service = await openService(
      (response) => void response.writeHead(200, { "content-type": type }).end(body),
    );
    const { result } = await callTool(fetchPage, { url: service.url }, LOOPBACK);
    expect(result).toEqual({ url: service.url, title: null, text: body });
  });

  it.each([
    ["by the server", "text/html; charset=iso-8859-1", ""],
    ["by the page", "text/html", '<meta charset="iso-8859-1">'],
    [
      "by an older page",
      "text/html",
      '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">',
    ],
  ])("uses the encoding that is named %s", async (_who, type, head) => {
    const page = Buffer.from(
      `<html><head>${head}</head><body><p>Gr\u00fc\u00dfe</p></body></html>`,
      "latin1",
    );
    const service = await openService(
      (response) => void response.writeHead(200, { "content-type": type }).end(page),
    );
    const { result } = await callTool(fetchPage, { url: service.url }, LOOPBACK);
    expect(result).toMatchObject({ text: "Grüße" });
  });

  it("refuses content that is not text", async () => {
    const service = await openService(
      (response) => void response.writeHead(200, { "content-type": "application/pdf" }).end("%PDF-1.7"),
    );
    const { result, call } = await callTool(fetchPage, { url: service.url }, LOOPBACK);
    expect(result).toBe("This address returned application/pdf, which is not text: it cannot be read.");
    expect(call.attempt).toBe(1);
  });

  it("reads only a limited number of tags, and says so", async () => {
    const service = await openService(html("<b>x</b>".repeat(50_000)));
    const { result } = await callTool(fetchPage, { url: service.url, maxCharacters: 1 }, LOOPBACK);
    expect((result as { note: string }).note).toMatch(
      /^The page is too large: the rest of it was not read\./,
    );
  });

  it("survives a page that is nested endlessly", async () => {
    const service = await openService(html(`${"<div>".repeat(50_000)}deep`));
    const { call } = await callTool(fetchPage, { url: service.url }, LOOPBACK);
    expect(call.status).toBe("succeeded");
  });

  it.each([404, 403, 410])("does not retry after %i", async (status) => {
    const service = await openService((response) => void response.writeHead(status).end());
    const { call, result } = await callTool(fetchPage, { url: service.url }, LOOPBACK);
    expect([call.status, call.attempt, service.seen.length]).toEqual(["failed", 1, 1]);
    expect(result).toBe(`${service.host} answered ${status} for this page.`);
  });

  it.each([
    ["500", (response: ServerResponse) => void response.writeHead(500).end()],
    ["429", (response: ServerResponse) => void response.writeHead(429).end()],
    ["a connection that breaks", (response: ServerResponse) => void response.destroy()],
    [
      "a page that breaks off",
      (response: ServerResponse) => {
        response.writeHead(200, { "content-type": "text/plain", "content-length": "99" });
        response.write("half", () => response.destroy());
      },
    ],
  ])("retries after %s", async (_what, fail) => {
    const service = await openService((response, _request, n) =>
      n === 1 ? fail(response) : html("<p>there</p>")(response),
    );
    const { call, result } = await callTool(fetchPage, { url: service.url }, LOOPBACK);
    expect([call.status, call.attempt]).toEqual(["succeeded", 2]);
    expect(result).toMatchObject({ text: "there" });
  });

  it("connects only to the run's allowed domains, also by a redirect", async () => {
    const inner = await openService(html("<p>private</p>"));
    const outer = await openService(
      (response) => void response.writeHead(302, { location: inner.url }).end(),
    );
    const only = { constraints: { allowedDomains: [outer.host] } };
    const { result, call } = await callTool(fetchPage, { url: outer.url }, only);
    expect([call.status, call.attempt]).toEqual(["failed", 1]);
    expect(result).toMatch(/^Refused to follow a redirect to/);
    expect(inner.seen).toHaveLength(0);
    const refused = await callTool(fetchPage, { url: inner.url });
    expect(refused.call.status).not.toBe("succeeded");
    expect(inner.seen).toHaveLength(0);
  });
});
