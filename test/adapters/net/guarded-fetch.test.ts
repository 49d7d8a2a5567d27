import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { text as readText } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  checkedLookup,
  guardedFetch,
  guardedFetchResolvedBy,
  type Resolve,
} from "../../../src/adapters/net/guarded-fetch.ts";
import { PawlError } from "../../../src/core/errors.ts";
import type { NetworkPolicy } from "../../../src/core/network-policy.ts";
import {
  callWith,
  domains,
  fetchLoopback,
  LOOPBACK,
  refusalOf,
  resolveTo,
  Site,
  toLoopback,
} from "./guarded-fetch-site.ts";

let site: Site;
let other: Site;

beforeEach(async () => {
  site = await Site.start();
  other = await Site.start();
});

afterEach(async () => {
  await Promise.all([site.close(), other.close()]);
});

describe("a request that the policy allows", () => {
  it("is a plain GET", async () => {
    const response = await fetchLoopback(`${site.origin}/page?q=1`);
    expect(response.status).toBe(200);
    expect(response.url).toBe(`${site.origin}/page?q=1`);
    expect(response.redirected).toBe(false);
    expect(await response.text()).toBe("hello from /page?q=1");
    expect(site.requests).toEqual(["GET /page?q=1"]);
  });

  it("may be given as a URL, and have headers in every form", async () => {
    for (const headers of [
      { "X-A": "1" },
      [["x-a", "1"]] as [string, string][],
      new Headers({ "x-a": "1" }),
    ]) {
      await (await fetchLoopback(new URL(site.origin), { headers })).text();
    }
    expect(site.seen.map(({ headers }) => headers["x-a"])).toEqual(["1", "1", "1"]);
  });

  it.each([
    ["a string", "a=1", "text/plain;charset=UTF-8"],
    ["form fields", new URLSearchParams({ a: "1" }), "application/x-www-form-urlencoded;charset=UTF-8"],
    ["bytes", new TextEncoder().encode("a=1"), undefined],
    ["a buffer", new TextEncoder().encode("a=1").buffer, undefined],
    ["a blob", new Blob(["a=1"], { type: "text/css" }), "text/css"],
  ])("sends %s with its type and its length", async (_name, body, type) => {
    await (await fetchLoopback(site.origin, { method: "post", body })).text();
    expect(site.seen).toMatchObject([{ method: "POST", body: "a=1" }]);
    expect(site.seen[0]?.headers["content-type"]).toBe(type);
    expect(site.seen[0]?.headers["content-length"]).toBe("3");
  });

  it("sends Node's own FormData as a form", async () => {
    const body = new FormData();
    body.append("a", "1");
    body.append("file", new Blob(["content"]), "name.txt");
    await (await fetchLoopback(site.origin, { method: "POST", body })).text();
    expect(site.seen[0]?.headers["content-length"]).toMatch(/^\d+$/);
    expect(site.seen[0]?.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
    expect(site.seen[0]?.body).toMatch(/name="a"\s+1[^]*filename="name.txt"[^]*content/);
  });

  it("sends a stream", async () => {
    const body = new Blob(["streamed"]).stream();
    await (await fetchLoopback(site.origin, { method: "POST", body, duplex: "half" })).text();
    expect(site.seen).toMatchObject([{ method: "POST", body: "streamed" }]);
  });

  it("gets its response decoded", async () => {
    site.answers.set("/zip", (response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("unzipped")),
    );
    expect(await (await fetchLoopback(`${site.origin}/zip`)).text()).toBe("unzipped");
  });

  it("is checked against the digest that the caller expects", async () => {
    const digest = (text: string) => `sha256-${createHash("sha256").update(text).digest("base64")}`;
    await expect(fetchLoopback(site.origin, { integrity: digest("another text") })).rejects.toThrow(
      TypeError,
    );
    const response = await fetchLoopback(site.origin, { integrity: digest("hello from /") });
    expect(await response.text()).toBe("hello from /");
  });

  it("fails as fetch does if nothing listens", async () => {
    const { origin } = site;
    await site.close();
    await expect(fetchLoopback(origin)).rejects.toThrow(TypeError);
    site = await Site.start();
  });

  it("goes to the host of its URL, whatever its headers and dispatcher are", async () => {
    const dispatcher = {
      dispatch: () => {
        throw new Error("This way around the policy is open.");
      },
    };
    const init = { headers: { host: "evil.test" }, dispatcher } as unknown as RequestInit;
    await (await fetchLoopback(site.origin, init)).text();
    expect(site.seen[0]?.headers.host).toBe(`127.0.0.1:${site.port}`);
  });
});

describe("a request that the policy does not allow", () => {
  it.each(["http://localhost", "http://127.0.0.1", "http://[::1]", "http://0x7f.1", "http://0.0.0.0"])(
    "is refused before anything is sent: %s by default",
    async (host) => {
      const error = await refusalOf(guardedFetch(callWith(domains()))(`${host}:${site.port}/`));
      expect(error.details.why).toContain("is private or reserved");
      expect(site.connections).toBe(0);
    },
  );

  it("is refused for a host that is not in the list", async () => {
    const error = await refusalOf(fetchLoopback("https://example.com/path"));
    expect(error).toMatchObject({
      name: "NetworkRefusedError",
      code: "network_refused",
      recoverable: false,
      message:
        "Refused to request https://example.com/path: The host example.com is not in allowedDomains: add it there if it may be reached.",
      details: { url: "https://example.com/path" },
    });
    expect(PawlError.isInstance(error)).toBe(true);
  });

  it.each([
    ["https://bob:hunter22@example.com/path?token=hunter22#hunter22", "https://example.com/path"],
    ["data:text/plain,hunter22", "data:"],
    ["file:///hunter22", "file:"],
    ["https://hunter22:hunter22", ""],
  ])("is refused without its secrets: %s", async (url, shown) => {
    const error = await refusalOf(guardedFetch(callWith(domains()))(url));
    expect(error.details.url).toBe(shown);
    for (const text of [error.message, error.stack, JSON.stringify(error.details), String(error.cause)]) {
      expect(text).not.toContain("hunter22");
    }
  });
});

describe("a name", () => {
  const get = (policy: NetworkPolicy, url: string, resolve: Resolve = toLoopback) =>
    guardedFetchResolvedBy(callWith(policy), resolve)(url);

  it.each(["http", "https"])("that resolves to a private address is refused, over %s", async (scheme) => {
    for (const policy of [domains(), domains("*.rebind.test:*"), domains("a.rebind.test:*")]) {
      const error = await refusalOf(get(policy, `${scheme}://a.rebind.test:${site.port}/p?q=1`));
      expect(error.message).toBe(
        `Refused to request ${scheme}://a.rebind.test:${site.port}/p: The host a.rebind.test resolves to 127.0.0.1, which is private or reserved: add a.rebind.test:${site.port}!private to allowedDomains if this is intended, or set allowPrivateAddresses.`,
      );
    }
    expect(site.connections).toBe(0);
  });

  it("may resolve to a private address if the list marks it so, or if such addresses are allowed", async () => {
    const url = `http://a.rebind.test:${site.port}/`;
    const anywhere = { allowedDomains: [], allowPrivateAddresses: true };
    for (const policy of [
      domains("a.rebind.test:*!private"),
      domains(`a.rebind.test:${site.port}!private`),
      anywhere,
    ]) {
      expect(await (await get(policy, url)).text()).toBe("hello from /");
    }
    expect(site.seen[0]?.headers.host).toBe(`a.rebind.test:${site.port}`);
  });

  it("that is listed with a port may be private at that port only", async () => {
    const policy = domains("*.rebind.test:*", `a.rebind.test:${site.port}!private`);
    expect(await (await get(policy, `http://a.rebind.test:${site.port}/`)).text()).toBe("hello from /");
    await refusalOf(get(policy, `http://a.rebind.test:${other.port}/`));
    expect(other.connections).toBe(0);
  });

  it("is checked again on every redirect", async () => {
    site.redirect("/a", 302, `http://inner.rebind.test:${other.port}/`);
    const error = await refusalOf(
      get(domains("a.rebind.test:*!private", "*.rebind.test:*"), `http://a.rebind.test:${site.port}/a`),
    );
    expect(error.details.url).toBe(`http://inner.rebind.test:${other.port}/`);
    expect([site.connections, other.connections]).toEqual([1, 0]);
  });

  it("is resolved once per connection, so that its address cannot change in between", async () => {
    let asked = 0;
    const resolve: Resolve = (hostname, options, callback) => {
      asked++;
      toLoopback(hostname, options, callback);
    };
    const fetchThere = guardedFetchResolvedBy(callWith(domains("a.rebind.test:*!private")), resolve);
    await (await fetchThere(`http://a.rebind.test:${site.port}/`)).text();
    await (await fetchThere(`http://a.rebind.test:${site.port}/`)).text();
    expect(asked).toBe(site.connections);
    expect(site.seen).toHaveLength(2);
  });

  it("that cannot be resolved fails as fetch does, and one without addresses is refused", async () => {
    const failure = Object.assign(new Error("not found"), { code: "ENOTFOUND" });
    await expect(
      get(domains(), "http://a.test/", (_h, _o, callback) => callback(failure, [])),
    ).rejects.toThrow(expect.objectContaining({ name: "TypeError", cause: failure }));
    expect((await refusalOf(get(domains(), "http://a.test/", resolveTo()))).details.why).toBe(
      "The host a.test has no address.",
    );
  });

  it("with public and private addresses keeps only the public ones", async () => {
    const resolve = resolveTo(
      { address: "10.0.0.1", family: 4 },
      { address: "93.184.216.34", family: 4 },
      { address: "::1", family: 6 },
      { address: "2606:4700::1", family: 6 },
    );
    const lookup = checkedLookup(domains(), new URL("http://a.test"), (hostname, options, callback) => {
      expect(options.all).toBe(true);
      resolve(hostname, options, callback);
    });
    const given = (all: boolean) =>
      new Promise((done) => lookup("a.test", { all }, (...results: unknown[]) => done(results)));
    expect(await given(true)).toEqual([
      null,
      [
        { address: "93.184.216.34", family: 4 },
        { address: "2606:4700::1", family: 6 },
      ],
    ]);
    expect(await given(false)).toEqual([null, "93.184.216.34", 4]);
  });
});

describe("an abort", () => {
  const reason = new Error("The run was cancelled.");
  const hang = () => site.answers.set("/hang", () => {});

  it("of the call ends the request", async () => {
    hang();
    const controller = new AbortController();
    const response = guardedFetch(callWith(LOOPBACK, controller.signal))(`${site.origin}/hang`);
    await Promise.all([
      expect(response).rejects.toBe(reason),
      site.nextRequest().then(() => controller.abort(reason)),
    ]);
  });

  it("of the request's own signal ends it too, and the call's still does", async () => {
    hang();
    for (const which of ["call", "own"] as const) {
      const controllers = { call: new AbortController(), own: new AbortController() };
      const get = guardedFetch(callWith(LOOPBACK, controllers.call.signal));
      await Promise.all([
        expect(get(`${site.origin}/hang`, { signal: controllers.own.signal })).rejects.toBe(reason),
        site.nextRequest().then(() => controllers[which].abort(reason)),
      ]);
    }
  });

  it("ends the response that is being read", async () => {
    site.answers.set("/half", (response) => void response.writeHead(200).write("half"));
    const controller = new AbortController();
    const response = await guardedFetch(callWith(LOOPBACK, controller.signal))(`${site.origin}/half`);
    const read = response.text();
    controller.abort(reason);
    await expect(read).rejects.toBe(reason);
  });

  it("before the request sends nothing", async () => {
    await expect(guardedFetch(callWith(LOOPBACK, AbortSignal.abort(reason)))(site.origin)).rejects.toBe(
      reason,
    );
    expect(site.seen).toEqual([]);
  });
});

describe("a connection", () => {
  it("is reused by calls with the same policy, and by no other", async () => {
    const policy = domains("127.0.0.1:*");
    const get = async (network: NetworkPolicy) => (await guardedFetch(callWith(network))(site.origin)).text();
    await get(policy);
    // undici releases a connection some turns of the event loop after the response has ended.
    await new Promise((resolve) => setTimeout(resolve, 20));
    await get(policy);
    expect(site.connections).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await get(domains("127.0.0.1:*"));
    expect(site.connections).toBe(2);
  });

  it("does not keep a finished process alive, even if a redirect's response is endless", async () => {
    site.answers.set("/a", (response) => {
      response.writeHead(302, { location: "/b" }).write("a body without an end");
    });
    const module = new URL("../../../src/adapters/net/guarded-fetch.ts", import.meta.url);
    const script = `
      import { guardedFetch } from ${JSON.stringify(module.href)};
      const network = { allowedDomains: ["127.0.0.1:*"], allowPrivateAddresses: false };
      const get = guardedFetch({ network, signal: new AbortController().signal });
      const text = await (await get(${JSON.stringify(`${site.origin}/a`)})).text();
      await new Promise((resolve) => setTimeout(resolve, 50));
      // Lists only what keeps the process alive.
      console.log(JSON.stringify({ text, open: process.getActiveResourcesInfo().filter((name) => /^(TCP|TLS)/.test(name)) }));
    `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output] = await Promise.all([readText(child.stdout), once(child, "exit")]);
    expect(JSON.parse(output)).toEqual({ text: "hello from /b", open: [] });
    expect(site.connections).toBeGreaterThan(0);
  });
});
