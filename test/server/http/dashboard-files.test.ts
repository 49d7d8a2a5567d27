import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { placeOf } from "../../../dashboard/src/browser/places.ts";
import { DashboardFiles } from "../../../src/server/http/dashboard-files.ts";
import { testServer } from "../test-server.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-dashboard-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function built(name: string, files: { readonly [path: string]: string | Buffer }): string {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, path, ".."), { recursive: true });
    writeFileSync(join(folder, name, path), text);
  }
  return join(folder, name);
}

const page = "<!doctype html><title>Pawl</title>";
const code = "console.log(1)";
const plain = built("plain", { "index.html": page, "assets/app-1a2b.js": code });
const packed = built("packed", { "index.html.gz": gzipSync(page), "assets/app-1a2b.js.gz": gzipSync(code) });
writeFileSync(join(folder, "secret.txt"), "secret");

function serverOf(path: string) {
  return testServer({ dashboard: DashboardFiles.in(path) });
}

describe("the dashboard", () => {
  it.each(["/", "/runs/q-1%2Fa", "/waits", "/index.html"])(
    "shows its page at %s, and it is asked for again",
    async (path) => {
      const response = await serverOf(plain).request(path);
      expect(await response.text()).toBe(page);
      expect(response.headers.get("cache-control")).toBe("no-cache");
      expect(response.headers.get("content-security-policy")).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
      );
    },
  );

  it.each([
    "/",
    "/runs",
    "/runs/",
    "/runs/q-1%2Fa",
    "/runs/q/more",
    "/waits/q~1",
    "/compare",
    "/compare/x",
    "/spend",
    "/health",
    "/workers",
    "/schedules",
    "/access",
    "/v2/runs",
    "/robots.txt",
    "/favicon.ico",
    "/nope",
    "/healthzz",
  ])("answers 404 where the dashboard has no page, and 200 where it has one: %s", async (path) => {
    const isPage = placeOf(path).page !== "unknown";
    const server = serverOf(plain);
    const answered = await server.request(path);
    expect(answered.status).toBe(isPage ? 200 : 404);
    if (!isPage) expect(await answered.json()).toMatchObject({ code: "no_such_path" });
    const shown = await server.request(path, { headers: { accept: "text/html,*/*;q=0.8" } });
    expect([shown.status, await shown.text()]).toEqual([isPage ? 200 : 404, page]);
  });

  it("keeps files whose name has their hash for ever, and has no page in the place of a missing one", async () => {
    const server = serverOf(plain);
    const file = await server.request("/assets/app-1a2b.js");
    expect(file.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(file.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect((await server.request("/assets/app-0000.js")).status).toBe(404);
    expect((await server.request("/v1/nowhere")).status).toBe(404);
  });

  it("sends compressed files as they are, and inflates them for clients that take none", async () => {
    const server = serverOf(packed);
    const small = await server.request("/assets/app-1a2b.js", {
      headers: { "accept-encoding": "br, gzip;q=0.5" },
    });
    expect(small.headers.get("content-encoding")).toBe("gzip");
    expect(gunzipSync(await small.arrayBuffer()).toString()).toBe(code);
    for (const accepted of ["identity", "gzip;q=0", ""]) {
      const response = await server.request("/assets/app-1a2b.js", {
        headers: { "accept-encoding": accepted },
      });
      expect(response.headers.get("content-encoding")).toBeNull();
      expect(await response.text()).toBe(code);
    }
  });

  it.each(["/..%2fsecret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt", "/..%5csecret.txt"])(
    "never reads a file beside its own: %s",
    async (path) => {
      expect(await (await serverOf(plain).request(path)).text()).not.toContain("secret");
    },
  );

  it("is not there where it was not built, and the API is", async () => {
    expect(DashboardFiles.in(join(folder, "none"))).toBeNull();
    const server = testServer();
    expect(await (await server.request("/")).json()).toMatchObject({ status: 404, code: "no_dashboard" });
    expect((await server.request("/healthz")).status).toBe(200);
    expect((await serverOf(plain).request("/", { method: "POST" })).status).toBe(405);
  });
});
