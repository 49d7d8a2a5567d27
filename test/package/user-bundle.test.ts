// A program that a user bundles into one file, with Pawl and everything else in it, and runs where nothing is installed.

import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packedProject } from "./packed-project.ts";

/** An agent with a tool whose work runs on a thread: the text of a page, of a server in the same process. */
const PROGRAM = `
  import { createServer } from "node:http";
  import { agent, openStore, Runner } from "pawl";
  import { scriptedModel } from "pawl/testing";
  import { fetchPage, renderPdf } from "pawl/tools";

  const page = "<title>Pawls</title><p>A pawl <b>stops</b> a wheel.</p>";
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end(page));
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const host = "127.0.0.1:" + server.address().port;
  const model = scriptedModel([
    { toolCalls: [{ name: "fetch_page", input: { url: "http://" + host + "/" } }] },
    { toolCalls: [{ name: "render_pdf", input: { path: "a.pdf", markdown: "# Pawls" } }] },
    { text: "Read." },
  ]);
  const store = await openStore("file:./pawl.db");
  const reader = agent({ name: "reader", model, tools: { fetch_page: fetchPage, render_pdf: renderPdf } });
  const run = await new Runner(reader, { store, policy: { allowPrivateAddresses: true } }).run("Go.", { runId: "r" });
  const [fetched] = await store.listToolCalls("r");
  console.log(JSON.stringify({ status: run.status, output: run.output, text: JSON.stringify(fetched), why: JSON.stringify(run.waits) }));
  await store.close();
  server.close();
`;

let project: string;
let empty: string;

beforeAll(async () => {
  project = await packedProject({ packages: ["ai"] });
  empty = mkdtempSync(join(tmpdir(), "pawl-empty-"));
}, 120_000);

afterAll(() => {
  for (const folder of [project, empty]) rmSync(folder, { recursive: true, force: true });
});

describe("a program in one file", () => {
  it("opens a store, runs an agent, and uses tools that work on a thread", async () => {
    writeFileSync(join(project, "program.js"), PROGRAM);
    const build = await rolldown({ cwd: project, input: "program.js", platform: "node", logLevel: "silent" });
    await build.write({ file: join(empty, "program.mjs"), format: "esm", codeSplitting: false });
    await build.close();
    expect(readdirSync(empty)).toEqual(["program.mjs"]);

    const { stdout, stderr } = await promisify(execFile)(process.execPath, ["program.mjs"], { cwd: empty });
    expect(stderr).toBe("");
    const { status, text, why } = JSON.parse(stdout) as Record<string, string>;
    expect(text).toContain("A pawl stops a wheel.");
    // pdfkit is not installed here: the run waits for it, and can be resumed.
    expect(status).toBe("waiting");
    expect(why).toContain("npm install pdfkit@0.20");
  });
});
