import { type ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { guardedFetch, guardedFetchResolvedBy } from "../../../src/adapters/net/guarded-fetch.ts";
import { callWith, domains, fetchLoopback, refusalOf, Site, toLoopback } from "./guarded-fetch-site.ts";

let site: Site;
let other: Site;

beforeEach(async () => {
  site = await Site.start();
  other = await Site.start();
});

afterEach(async () => {
  await Promise.all([site.close(), other.close()]);
});

describe("a redirect", () => {
  it("is followed, relative to its origin, and the response is marked as redirected", async () => {
    site.redirect("/a/b", 302, "../c?d=1");
    site.redirect("/c", 302, `${other.origin}/end`);
    const response = await fetchLoopback(`${site.origin}/a/b`);
    expect(await response.text()).toBe("hello from /end");
    expect(response.url).toBe(`${other.origin}/end`);
    expect(response.redirected).toBe(true);
    expect(site.requests).toEqual(["GET /a/b", "GET /c?d=1"]);
  });

  it("is followed if its location is written in UTF-8", async () => {
    site.redirect("/a", 302, Buffer.from("/bücher", "utf8").toString("latin1"));
    await (await fetchLoopback(`${site.origin}/a`)).text();
    expect(site.requests).toEqual(["GET /a", "GET /b%C3%BCcher"]);
  });

  it.each([
    [
      "a host that is not in the list",
      "http://evil.test/x?hunter22",
      "http://evil.test/x",
      "evil.test is not in",
    ],
    ["another scheme", "file:///etc/passwd", "file:", "only http: and https:"],
    ["credentials", "http://bob:hunter22@127.0.0.1/", "http://127.0.0.1/", "carries a user name"],
    ["nowhere", "http://hunter22:hunter22", "", "cannot be read"],
  ])("to %s is refused", async (_name, location, url, why) => {
    site.redirect("/a", 302, location);
    const error = await refusalOf(fetchLoopback(`${site.origin}/a`));
    expect(error.message).toMatch(/^Refused to follow a redirect to /);
    expect(error.message).not.toContain("hunter22");
    expect(error.details).toEqual({ url, why: expect.stringContaining(why) });
    expect(site.requests).toEqual(["GET /a"]);
  });

  it("from a listed host to a private address is refused, also if every public host may be reached", async () => {
    const toMetadata = (response: ServerResponse) =>
      response.writeHead(307, { location: "http://169.254.169.254/latest/meta-data" }).end();
    site.answers.set("/a", toMetadata);
    const policies = [domains("127.0.0.1:*"), domains("127.0.0.1:*", "*.example.com")];
    for (const policy of policies) {
      const error = await refusalOf(guardedFetch(callWith(policy))(`${site.origin}/a`));
      expect(error.details.url).toBe("http://169.254.169.254/latest/meta-data");
    }
    // This test cannot reach a public host; a name that may be private comes closest.
    const error = await refusalOf(
      guardedFetchResolvedBy(
        callWith(domains("app.test:*!private", "*.example.com")),
        toLoopback,
      )(`http://app.test:${site.port}/a`),
    );
    expect(error.message).toContain("Refused to follow a redirect to http://169.254.169.254/");
  });

  it("is not followed forever", async () => {
    site.redirect("/a", 302, "/b");
    site.redirect("/b", 302, "/a?secret=hunter22");
    const error = await refusalOf(fetchLoopback(`${site.origin}/a`));
    expect(error.details.why).toContain("There were 10 redirects before this one");
    expect(error.message).not.toContain("hunter22");
    expect(site.seen).toHaveLength(11);
  });

  it("is followed ten times", async () => {
    for (let n = 0; n < 10; n++) site.redirect(`/${n}`, 302, `/${n + 1}`);
    expect(await (await fetchLoopback(`${site.origin}/0`)).text()).toBe("hello from /10");
  });

  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [303, "DELETE", "GET"],
  ])("%s turns %s into %s, without the body and its headers", async (status, method, then) => {
    site.redirect("/a", status, "/b");
    const headers = { "content-language": "de", "x-a": "1" };
    await (await fetchLoopback(`${site.origin}/a`, { method, body: "the body", headers })).text();
    const [first, second] = site.seen;
    expect(first).toMatchObject({ method, body: "the body" });
    expect(second).toMatchObject({ method: then, path: "/b", body: "" });
    expect(second?.headers).toMatchObject({ "x-a": "1" });
    expect(Object.keys(second?.headers ?? {}).filter((name) => name.startsWith("content-"))).toEqual([]);
  });

  it.each([
    [301, "PUT"],
    [302, "PATCH"],
    [307, "POST"],
    [308, "POST"],
    [308, "PUT"],
  ])("%s keeps %s and its body", async (status, method) => {
    site.redirect("/a", status, "/b");
    await (await fetchLoopback(`${site.origin}/a`, { method, body: new URLSearchParams({ a: "1" }) })).text();
    expect(site.seen).toMatchObject([
      { method, path: "/a", body: "a=1" },
      { method, path: "/b", body: "a=1" },
    ]);
    expect(site.seen[1]?.headers["content-type"]).toBe(site.seen[0]?.headers["content-type"]);
  });

  it("303 leaves HEAD as it is", async () => {
    site.redirect("/a", 303, "/b");
    await fetchLoopback(`${site.origin}/a`, { method: "HEAD" });
    expect(site.requests).toEqual(["HEAD /a", "HEAD /b"]);
  });

  it("cannot send a stream again, but can continue without it", async () => {
    const send = (path: string) =>
      fetchLoopback(`${site.origin}${path}`, {
        method: "POST",
        body: new Blob(["streamed"]).stream(),
        duplex: "half",
      });
    site.redirect("/again", 307, "/b");
    site.redirect("/look", 303, "/b");
    expect((await refusalOf(send("/again"))).details.why).toBe(
      "The body is a stream, which cannot be sent twice: pass a string or bytes.",
    );
    expect(await (await send("/look")).text()).toBe("hello from /b");
    expect(site.requests).toEqual(["POST /again", "POST /look", "GET /b"]);
  });

  const HEADERS = {
    authorization: "Bearer hunter22",
    cookie: "a=hunter22",
    "proxy-authorization": "Basic hunter22",
    "idempotency-key": "hunter22",
    "x-idempotency-key": "hunter22",
    "x-api-key": "hunter22",
    "x-auth-token": "hunter22",
    "x-auth": "hunter22",
    "x-access-key": "hunter22",
    "x-password": "hunter22",
    "x-signature": "hunter22",
    "x-session-id": "hunter22",
    "x-something": "hunter22",
    "if-api-key": "hunter22",
    "content-location": "https://example.com/?token=hunter22",
    accept: "text/plain",
    "accept-language": "de",
    "content-type": "text/csv",
    "if-none-match": '"1"',
  };

  it("to another origin sends no credentials and no keys", async () => {
    site.redirect("/a", 307, `${other.origin}/b`);
    other.redirect("/b", 307, `${site.origin}/c`);
    await (await fetchLoopback(`${site.origin}/a`, { method: "POST", headers: HEADERS })).text();
    expect(site.seen[0]?.headers).toMatchObject(HEADERS);
    for (const { headers } of [...other.seen, ...site.seen.slice(1)]) {
      expect(JSON.stringify(headers)).not.toContain("hunter22");
      expect(headers).toMatchObject({
        accept: "text/plain",
        "accept-language": "de",
        "if-none-match": '"1"',
      });
    }
    expect([...site.requests, ...other.requests]).toEqual(["POST /a", "POST /c", "POST /b"]);
  });

  it.each([
    [301, "PUT"],
    [307, "POST"],
    [308, "POST"],
  ])("to another origin does not send the body: %s of %s", async (status, method) => {
    site.redirect("/a", status, `${other.origin}/b`);
    const refused = await refusalOf(fetchLoopback(`${site.origin}/a`, { method, body: "x" }));
    expect(refused.details.why).toMatch(/^The body was meant for the original origin/);
    expect(other.requests).toEqual([]);
  });

  it("within the origin sends them again", async () => {
    site.redirect("/a", 307, "/b");
    await (await fetchLoopback(`${site.origin}/a`, { headers: HEADERS })).text();
    expect(site.seen[1]?.headers).toMatchObject(HEADERS);
  });

  it("is returned if the caller asks for it", async () => {
    site.redirect("/a", 302, "http://evil.test/");
    const response = await fetchLoopback(`${site.origin}/a`, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([302, "http://evil.test/"]);
  });

  it("is an error if the caller allows none", async () => {
    site.redirect("/a", 302, "/b");
    await expect(fetchLoopback(`${site.origin}/a`, { redirect: "error" })).rejects.toThrow(TypeError);
    expect(await (await fetchLoopback(`${site.origin}/b`, { redirect: "error" })).text()).toBe(
      "hello from /b",
    );
    expect(site.requests).toEqual(["GET /a", "GET /b"]);
  });

  it.each([300, 304, 305])("is not what the status %s means", async (status) => {
    site.redirect("/a", status, "/b");
    expect((await fetchLoopback(`${site.origin}/a`)).status).toBe(status);
    expect(site.requests).toEqual(["GET /a"]);
  });

  it("without a location is a plain response", async () => {
    site.answers.set("/a", (response) => response.writeHead(302).end("where to?"));
    expect(await (await fetchLoopback(`${site.origin}/a`)).text()).toBe("where to?");
  });
});
