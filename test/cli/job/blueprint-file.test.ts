import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseJob } from "../../../src/cli/job/job-file.ts";
import { JobFileError } from "../../../src/cli/job/job-file-error.ts";
import { jobFileTools } from "../../../src/cli/job/job-file-tools.ts";
import type { Blueprint } from "../../../src/core/job/blueprint.ts";
import { parseRunSpec } from "../../../src/core/job/run-spec.ts";
import { tool } from "../../../src/engine/definition/tool.ts";
import { mistakenAgents } from "./blueprint-agent-mistakes.ts";
import { mistakenSteps } from "./blueprint-step-mistakes.ts";
import { mistakenValues } from "./blueprint-value-mistakes.ts";

const myTool = tool({ description: "Mine.", inputSchema: z.object({}), execute: () => null });
const tools = {
  ...(await jobFileTools({ tools: { my_tool: myTool } }, { SET: "smtp://mail.example.com" })),
  names: ["my_tool", "read_file", "fetch_page", "http_request", "ask_human", "send_mail"],
};

/** As the table has them. */
function problemsOf(text: string): readonly string[] {
  try {
    parseJob(text, "yaml", "job.yaml", tools);
    return [];
  } catch (error) {
    if (!JobFileError.isInstance(error)) throw error;
    return error.details.problems.map(
      ({ line, column, path, message }) => `${line}:${column}  ${path}: ${message}`,
    );
  }
}

function blueprintOf(text: string): Blueprint {
  const { pipeline } = parseJob(text, "yaml", "job.yaml", tools).spec;
  if (typeof pipeline !== "object" || pipeline === null) throw new Error("There is no blueprint.");
  return pipeline;
}

const WHOLE = `
objective: Summarise the notes, ask, then mail it
input: { topic: pawls }
pipeline:
  name: digest
  mcp_servers:
    notes: { command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", ./notes], env: { TOKEN: "\${NOTES_TOKEN}" } }
    search: { url: "https://example.com/mcp", headers: { Authorization: "Bearer \${SEARCH_TOKEN}" } }
  tools:
    send_mail: { url: "\${SMTP_URL}", from: reports@example.com }
  agents:
    writer:
      model: openai/gpt-5.2
      instructions: You write digests.
      tools: [read_file, notes/*, search/find, ask_human, my_tool]
      output: { type: object, properties: { text: { type: string }, is_complete: { type: boolean } }, required: [text, is_complete] }
      settings: { temperature: 0, max_output_tokens: 2000, seed: 7 }
  steps:
    - { name: draft, agent: writer, phase: write, max_turns: 30, prompt: "Write about {{ input.topic }}" }
    - { name: check, ask: "Send this?\\n\\n{{ steps.draft.text }}", choices: [send, stop] }
    - name: polish
      loop:
        - { name: review, agent: writer, prompt: "{{ steps.draft.text }} {{ previous }}" }
        - { name: note, tool: notes/write_file, with: { text: "{{ steps.review.text }}", at: [1, "{{ input }}"] } }
        - { name: again, agent: writer }
      until: { output: is_complete }
    - { name: mail, tool: send_mail, with: { to: x@example.com, subject: Hi, text: "{{ steps.polish.text }}" }, when: { step: check, equals: send } }
`;

const mistakenBlueprints = [...mistakenSteps, ...mistakenAgents, ...mistakenValues];

describe("a blueprint that cannot be used", () => {
  it.each(mistakenBlueprints)("with %s is refused with all that is wrong", (_, lines, problems) => {
    expect(problemsOf(`${lines.join("\n")}\n`)).toEqual(problems);
  });

  it("is one of very many", () => {
    expect(mistakenBlueprints.length).toBeGreaterThan(70);
    for (const [, , problems] of mistakenBlueprints) expect(problems).not.toEqual([]);
  });

  it("is refused as JSON with the same messages", () => {
    const text = JSON.stringify({
      objective: "x",
      pipeline: { name: "p", steps: [{ name: "a", agent: "w" }] },
    });
    expect(() => parseJob(text, "json", "job.json", tools)).toThrow(
      'job.json:1:62  pipeline.steps[0].agent: names an agent "w" that does not exist: add it to pipeline.agents.',
    );
  });
});

describe("a blueprint", () => {
  it("is read completely, with defaults for what was left out", () => {
    const { steps, agents, mcpServers } = blueprintOf(WHOLE);
    expect(mcpServers.notes).toEqual({
      command: "npx",
      args: ["-y", "@modelcontextprotocol/server-filesystem", "./notes"],
      env: { TOKEN: "${NOTES_TOKEN}" },
      cwd: null,
    });
    expect(agents.writer?.settings).toEqual({
      temperature: 0,
      maxOutputTokens: 2_000,
      seed: 7,
      topP: null,
      stopSequences: [],
      reasoning: null,
      providerOptions: null,
    });
    expect(steps.map(({ name }) => name)).toEqual(["draft", "check", "polish", "mail"]);
    expect(steps[0]).toEqual({
      name: "draft",
      phase: "write",
      when: null,
      agent: "writer",
      prompt: "Write about {{ input.topic }}",
      maxTurns: 30,
    });
    expect(steps[2]).toMatchObject({ until: { output: "is_complete", equals: true }, maxIterations: 10 });
    expect(steps[3]).toMatchObject({ when: { step: "check", output: null, equals: "send" } });
  });

  it("reads again as the same, and in camelCase too", () => {
    const { spec } = parseJob(WHOLE, "yaml", "job.yaml", tools);
    expect(parseRunSpec(spec, tools)).toEqual({ ok: true, spec });
    const camel = WHOLE.replace("mcp_servers", "mcpServers")
      .replace("max_output_tokens", "maxOutputTokens")
      .replace("max_turns", "maxTurns");
    expect(parseJob(camel, "yaml", "job.yaml", tools).spec).toEqual(spec);
  });

  it("may name any tool if the tools are not known", () => {
    const parsed = parseRunSpec({
      objective: "x",
      pipeline: { name: "p", steps: [{ name: "a", tool: "whatever" }] },
    });
    expect(parsed.ok).toBe(true);
  });

  it("has settings that are checked with the environment filled in, as far as it is known", () => {
    const job = (url: string) =>
      `objective: x\npipeline:\n  name: p\n  tools: { send_mail: { url: "${url}", from: a@b.c } }\n  steps: [{ name: a, tool: send_mail, with: { to: x@example.com, subject: Hi, text: Well } }]\n`;
    expect(problemsOf(job("${SET}"))).toEqual([]);
    expect(problemsOf(job("${NOT_SET}"))).toEqual([]);
    expect(problemsOf(job("http://${SET}"))).toEqual([
      "4:25  pipeline.tools.send_mail.url: cannot be used: use smtp://user:password@host:587 or smtps://user:password@host.",
    ]);
  });
});
