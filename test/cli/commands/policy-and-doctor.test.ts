// `pawl policy` and `pawl doctor`.

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { Runner, Step } from "../../../src/index.ts";
import { rawServer } from "../../mcp/mcp-fixture.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { cliFolder, runSamples, SEARCHING, TRANSFERRING } from "../sample-runs.ts";

describe("policy", () => {
  const configured = () => {
    const folder = cliFolder();
    const source = new URL("../sample-runs.ts", import.meta.url).href;
    writeFileSync(
      join(folder.cwd, "pawl.config.ts"),
      `import { samplePipeline } from ${JSON.stringify(source)};
       export default { pipelines: { report: samplePipeline("report") }, policy: { readOnlyAllowlist: ["ask_*", "sign_in"] } };`,
    );
    return folder;
  };

  it("explains a configured tool, a listed one, and one by its name alone", async () => {
    const folder = configured();
    const explain = async (...argv: readonly string[]) =>
      (await pawlJson(["policy", "explain", ...argv], folder)).document;
    expect(await explain("search")).toMatchObject({
      effect: "read_only",
      rule: "declared",
      foundIn: "report, step research",
    });
    expect(await explain("ask_anything")).toMatchObject({
      effect: "read_only",
      rule: "allowlist",
      foundIn: null,
    });
    expect(await explain("create_file")).toMatchObject({ effect: "local", rule: "side_effect_word" });
    // A file on another machine is not a file here.
    expect(await explain("create_file", "--namespace", "github")).toMatchObject({ effect: "external" });
    const { stdout } = await pawl(["policy", "explain", "send_email"], folder);
    expect(stdout).toMatch(/effect +external: The word SEND/);
    expect(stdout).toMatch(/recovery +opaque: .*person/);
    expect(stdout).toContain('recovery: "keyed"');
    expect(stdout).toMatch(/dedupe +effect: once in a run; by its name it sends mail/);
    expect(await explain("send_mail")).toMatchObject({ dedupe: "effect" });
    expect(await explain("notify_customer")).toMatchObject({ dedupe: "call" });
  });

  it("audits every tool of every pipeline, with advice", async () => {
    const folder = configured();
    const { document } = await pawlJson<{ tools: readonly { tool: string; advice: string | null }[] }>(
      ["policy", "audit"],
      folder,
    );
    expect(document.tools.map(({ tool, advice }) => [tool, advice === null])).toEqual([
      ["search", true],
      ["send_email", false],
      ["transfer_money", false],
      ["sign_in", true],
    ]);
    const { stdout } = await pawl(["policy", "audit"], folder);
    expect(stdout).toMatch(
      /^tool +effect +recovery +approval +pipeline +why\nsearch +read_only +repeat +report /,
    );
  });

  it("audits the tools of servers: their class without trust, the rules that forbid them, and rules that match nothing", async () => {
    const folder = cliFolder();
    const { server } = rawServer({ get_data: { does: "echoes" }, delete_file: { does: "echoes" } });
    const at = (file: string) => JSON.stringify(new URL(`../../../src/${file}`, import.meta.url).href);
    writeFileSync(
      join(folder.cwd, "pawl.config.ts"),
      `import { agent } from ${at("index.ts")};
       import { mcpTools } from ${at("adapters/mcp/mcp.ts")};
       import { scriptedModel } from ${at("testing/index.ts")};
       const clerk = agent({ name: "clerk", model: scriptedModel([]), tools: { files: mcpTools(${JSON.stringify(server)}) } });
       export default {
         pipelines: { clerk },
         constraints: { forbiddenActions: ["delete_*", "files/*_file", "send_*"] },
         policy: { approve: [{ match: "files/get_data", people: 2, notStarter: true }] },
       };`,
    );
    const { document } = await pawlJson<{ tools: readonly object[]; unmatched: readonly string[] }>(
      ["policy", "audit"],
      folder,
    );
    expect(document.tools).toMatchObject([
      {
        tool: "files__get_data",
        effect: "external",
        recovery: "opaque",
        rule: "untrusted_server",
        forbiddenBy: [],
        approval: { people: 2, notStarter: true },
      },
      { tool: "files__delete_file", forbiddenBy: ["delete_*", "files/*_file"], approval: null },
    ]);
    expect(document.unmatched).toEqual(["send_*"]);
    const { stdout } = await pawl(["policy", "audit"], { ...folder, columns: 200 });
    expect(stdout).toMatch(/files__get_data +external +opaque +2 people, not the starter/);
    expect(stdout).toMatch(/files__delete_file +external +opaque +delete_\*, files\/\*_file/);
    expect(stdout).toContain('None of these tools is forbidden by "send_*".');
    const { document: explained } = await pawlJson(["policy", "explain", "files/get_data"], folder);
    expect(explained).toMatchObject({ foundIn: "clerk, step clerk", effect: "external" });
  });

  it("reports that there is nothing to audit", async () => {
    const { stdout } = await pawl(["policy", "audit"], { cwd: "/nowhere" });
    expect(stdout).toContain("There is no pawl.config.ts here or above");
  });
});

describe("doctor", () => {
  type Document = {
    checks: readonly { name: string; status: string; what: string; remedy: string | null }[];
  };

  it("finds everything in order", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { exitCode, document } = await pawlJson<Document>(["doctor"], folder);
    expect(exitCode).toBe(0);
    expect(document.checks.map(({ name, status }) => `${name} ${status}`)).toEqual([
      "node ok",
      "config ok",
      "packages ok",
      "store ok",
      "store id ok",
      "schema ok",
      "disk ok",
      "rights ok",
      "place ok",
      "durability ok",
      "database ok",
      "integrity ok",
      "leases ok",
      "waits ok",
      "in doubt ok",
      "queues ok",
    ]);
  });

  it("does not create a missing database", async () => {
    const folder = cliFolder();
    const { exitCode, stdout } = await pawl(["doctor"], folder);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`none at ${folder.file} yet`)]);
    expect((await pawl(["ls"], folder)).stderr).toContain("There is no database at");
  });

  it("warns of open waits and of calls in doubt, each with a remedy", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "t-1": [TRANSFERRING] });
    const { exitCode, stdout } = await pawl(["doctor"], folder);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^warn +waits +1 question open\n +→ see pawl waits$/m);
    expect(stdout).toMatch(
      /^warn +in doubt +the outcome of 1 call is unknown\n +→ see pawl receipts t-1 --in-doubt$/m,
    );
  });

  it("does not count calls that sleep, wait for a message or ask a person as in doubt", async () => {
    const folder = cliFolder();
    const waits = [
      Step.sleep("nap", 3_600_000),
      Step.receive("paid", { event: "paid" }),
      Step.human("ask", { question: "Is it right?" }),
    ];
    await folder.withStore(async (store) => {
      for (const [i, step] of waits.entries())
        await new Runner(step, { store }).run(null, { runId: `w-${i}` });
    });
    const { stdout } = await pawl(["doctor"], folder);
    expect(stdout).toMatch(/^ok +in doubt +no tool call is in doubt$/m);
    expect(stdout).toMatch(/^warn +waits +1 question open\n/m);
    for (const i of waits.keys()) {
      const { document } = await pawlJson(["receipts", `w-${i}`, "--in-doubt"], folder);
      expect(document).toMatchObject({ calls: [], next: [] });
    }
  });

  it("warns of a database that others can read or change", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "t-1": [TRANSFERRING] });
    for (const [mode, what] of [
      [0o644, "can be read by"],
      [0o620, "can be read or changed by"],
    ] as const) {
      chmodSync(folder.file, mode);
      const { document } = await pawlJson<Document>(["doctor"], folder);
      expect(document.checks.find(({ name }) => name === "rights")).toMatchObject({
        status: "warn",
        what: expect.stringContaining(what),
      });
    }
  });

  it("fails if the configuration or the store does, and continues with the other checks", async () => {
    const folder = cliFolder();
    mkdirSync(dirname(folder.file));
    writeFileSync(folder.file, "Dear diary, ".repeat(500));
    writeFileSync(join(folder.cwd, "pawl.config.ts"), "export const x = 1;");
    const { exitCode, document } = await pawlJson<Document>(["doctor", "--load-config"], folder);
    expect(exitCode).toBe(1);
    expect(document.checks.map(({ name, status }) => `${name} ${status}`)).toEqual([
      "node ok",
      "config fail",
      "packages ok",
      "store fail",
      "disk ok",
    ]);
  });

  it("names the configuration, and executes it only with --load-config", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    writeFileSync(join(folder.cwd, "pawl.config.ts"), 'throw new Error("It was run.");');
    const { exitCode, stdout } = await pawl(["doctor"], { ...folder, columns: 400 });
    expect(exitCode).toBe(0);
    expect(stdout).toContain("pawl.config.ts, not executed: add --load-config to do that");
    const loaded = await pawl(["doctor", "--load-config"], { ...folder, columns: 400 });
    expect(loaded.exitCode).toBe(1);
    expect(loaded.stdout).toMatch(/^fail +config .*It was run/m);
  });
});
