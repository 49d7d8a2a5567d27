// `pawl serve`, in a process of its own.

import { describe, expect, it } from "vitest";
import { createClient } from "../../../src/client/client.ts";
import { CliFolder } from "../cli-process.ts";
import { WORKING_CONFIG } from "../working-config.ts";

type Announced = { readonly url: string; readonly loginUrl: string };

/** A server on any free port, and who is signed in there. */
async function servedIn(folder: CliFolder, ...argv: readonly string[]) {
  const command = folder.start("serve", "--port", "0", "--json", ...argv);
  const { url, loginUrl } = JSON.parse(await command.waitForStdout("\n")) as Announced;
  const response = await fetch(`${url}/v1/session`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code: new URL(loginUrl).hash.slice("#code=".length) }),
  });
  expect(response.status).toBe(200);
  const cookie = (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  const client = createClient({
    baseUrl: url,
    fetch: (address, init) => {
      const headers = new Headers(init.headers);
      headers.set("cookie", cookie);
      headers.set("origin", url);
      return fetch(address, { ...init, headers });
    },
  });
  return { command, url, cookie, client };
}

describe("pawl serve", () => {
  it("starts runs that its worker works on, shows them as they happen, and stops in good order", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    const { command, url, cookie, client } = await servedIn(folder, "--worker");
    expect(await client.getServer()).toMatchObject({ hasWorker: true, isReadOnly: false });
    const { runId } = await client.startRun({ idempotencyKey: "k-1" }, { pipeline: "echo", input: "hello" });
    const again = await client.startRun({ idempotencyKey: "k-1" }, { pipeline: "echo", input: "hello" });
    expect(again).toEqual({ runId, existed: true });
    const types: string[] = [];
    for await (const { type } of client.watchRun({ runId })) types.push(type);
    expect(types.at(-1)).toBe("run.ended");
    const streams = ["/v1/stream", `/v1/runs/${encodeURIComponent(runId)}/watch`].map(async (path) => {
      const response = await fetch(`${url}${path}`, { headers: { cookie } });
      return response.text().then(
        () => "ended",
        () => "broken",
      );
    });
    // The watch of a run that is over ends by itself.
    expect(await streams[1]).toBe("ended");
    command.signal("SIGTERM");
    const { exitCode, stderr } = await command.ended();
    expect(exitCode).toBe(0);
    expect(await streams[0]).toBe("broken");
    expect(stderr).not.toContain("Error");
    const { stdout } = await folder.pawl("audit", "--json");
    expect(stdout).toContain("startRun");
  });

  it("says in one sentence that its port is in use, and what it needs to be reached from elsewhere", async () => {
    const folder = new CliFolder(WORKING_CONFIG);
    const { url } = await servedIn(folder, "--read-only");
    const port = new URL(url).port;
    const second = await folder.pawl("serve", "--port", port);
    expect(second.exitCode).toBe(2);
    expect(second.stderr).toContain(`Port ${port} of 127.0.0.1 is in use`);
    const none = await folder.pawl("serve", "--port", "99999");
    expect(none.exitCode).toBe(2);
    expect(none.stderr).toContain("--port is 99999: give a port from 0 to 65535.");
    expect(none.stderr).not.toContain("not expected");
    const open = await folder.pawl("serve", "--port", "0", "--host", "0.0.0.0");
    expect(open.exitCode).toBe(2);
    expect(open.stderr).toContain("--public-url https://");
  });
});
