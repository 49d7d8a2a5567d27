// A job file alone, without any TypeScript, on the command line: an MCP server, a question to a person, a kill.

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { resultsIn, startProvider } from "./blueprint-provider.ts";

const fileServer = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", import.meta.url),
);

const JOB = `
objective: Write a digest of the notes and keep it beside them
input: { topic: pawls }
pipeline:
  name: digest
  mcp_servers:
    notes: { command: "${process.execPath}", args: ["${fileServer}", ./notes], env: { NOTES_TOKEN: "\${DIGEST_TOKEN}" } }
  agents:
    writer:
      model: openai/gpt-5.2
      instructions: You write digests.
      tools: [notes/read_text_file]
      output:
        type: object
        properties: { text: { type: string } }
        required: [text]
        additionalProperties: false
  steps:
    - { name: draft, agent: writer, phase: write, prompt: "Write about {{ input.topic }}." }
    - { name: check, ask: "Keep this?\\n\\n{{ steps.draft.text }}", choices: [keep, stop] }
    - name: save
      tool: notes/write_file
      with: { path: digest.md, content: "{{ steps.draft.text }}" }
      when: { step: check, equals: keep }
    - name: apologise
      agent: writer
      prompt: Say sorry.
      when: { step: check, equals: stop }
`;

function jobFolder(): CliFolder {
  const jobs = { commands: [[process.execPath, fileServer]], environment: ["NOTES_TOKEN", "DIGEST_TOKEN"] };
  const folder = new CliFolder(`export default { jobs: ${JSON.stringify(jobs)} };\n`);
  mkdirSync(join(folder.path, "notes"));
  folder.write("notes/pawl.txt", "A pawl lets a ratchet move only forward.");
  folder.write("job.yaml", JOB);
  return folder;
}

const readNote = { call: "notes__read_text_file", input: { path: "pawl.txt" } };

describe("a job that is one file", () => {
  it("waits for a person, is killed and resumed, and does everything once", async () => {
    const provider = await startProvider(async (asked) => {
      const [note] = resultsIn(asked);
      if (note === undefined) return readNote;
      // The first process never gets the answer.
      if (provider.asked.length === 2) await new Promise(() => undefined);
      return JSON.stringify({ text: `Digest: ${note.includes("ratchet") ? "ratchets" : note}` });
    });
    vi.stubEnv("DIGEST_TOKEN", "token-of-the-notes");
    const folder = jobFolder();

    const first = folder.start("run", "job.yaml", "--run-id", "d-1", "--trust");
    await provider.askedTimes(2);
    first.signal("SIGKILL");
    await first.ended();

    const second = await folder.pawl("run", "job.yaml", "--run-id", "d-1", "--trust");
    expect({ exitCode: second.exitCode, stderr: second.stderr }).toMatchObject({ exitCode: 3 });
    expect(second.stdout).toContain("Keep this?");
    expect(second.stdout).toContain("Digest: ratchets");
    expect(existsSync(join(folder.path, "notes/digest.md"))).toBe(false);

    // The file is no longer needed: the pipeline is stored with the run.
    folder.remove("job.yaml");
    expect(await pawl(["answer", "d-1", "keep"], { cwd: folder.path })).toMatchObject({ exitCode: 0 });
    const env = { DIGEST_TOKEN: "token-of-the-notes" };
    const forecast = await pawl(["resume", "d-1", "--dry-run"], { cwd: folder.path, env });
    expect({ exitCode: forecast.exitCode, stderr: forecast.stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(forecast.stdout).toContain("save");
    const third = await folder.pawl("resume", "d-1");
    expect({ exitCode: third.exitCode, stderr: third.stderr }).toMatchObject({ exitCode: 0 });
    expect(readFileSync(join(folder.path, "notes/digest.md"), "utf8")).toBe("Digest: ratchets");

    expect(provider.asked.map(({ model }) => model)).toEqual(["gpt-5.2", "gpt-5.2", "gpt-5.2"]);
    expect(provider.asked[0]?.tools.map(({ name }) => name)).toEqual(["notes__read_text_file"]);
    expect(JSON.stringify(provider.asked[0]?.input)).toContain("Write about pawls.");
    type Receipts = { readonly calls: readonly { readonly tool: string; readonly status: string }[] };
    const { document } = await pawlJson<Receipts>(["receipts", "d-1"], { cwd: folder.path });
    expect(document.calls.map(({ tool, status }) => [tool, status])).toEqual([
      ["notes__read_text_file", "succeeded"],
      ["ask_human", "succeeded"],
      ["notes__write_file", "succeeded"],
    ]);
    const shown = await pawl(["show", "d-1"], { cwd: folder.path });
    expect(shown.stdout).toContain("apologise");
    expect(await pawl(["policy", "audit"], { cwd: folder.path })).toMatchObject({ exitCode: 0 });
  });
});
