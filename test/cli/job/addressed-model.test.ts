// A model that a job file defines by its address, without code.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { jsonAnswer, listenOnLoopback } from "../../../src/demo/loopback-server.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl } from "../recording-context.ts";

type Request = { readonly path: string; readonly authorization: string; readonly body: string };

/** A server that is compatible with OpenAI's chat completions. */
async function startServer() {
  const requests: Request[] = [];
  const server = await listenOnLoopback(({ path, body, headers }) => {
    const authorization = String(headers.authorization ?? "");
    requests.push({ path, authorization, body: Buffer.from(body).toString("utf8") });
    return jsonAnswer(200, {
      id: "chatcmpl-1",
      created: 1,
      model: "llama3",
      choices: [{ index: 0, message: { role: "assistant", content: "Served here." }, finish_reason: "stop" }],
      usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    });
  });
  onTestFinished(() => server.close());
  return { requests, url: `${server.url}/v1`, host: new URL(server.url).host };
}

const job = (model: string) => `
objective: Ask the local model
pipeline:
  name: local
  models:
    local: ${model}
  agents: { writer: { model: local, instructions: Be brief. } }
  steps:
    - { name: write, agent: writer, prompt: Who are you? }
`;

function folderWith(text: string, jobs: object | null): CliFolder {
  const folder = new CliFolder(jobs === null ? "" : `export default { jobs: ${JSON.stringify(jobs)} };\n`);
  if (jobs === null) folder.remove("pawl.config.ts");
  mkdirSync(join(folder.path, ".git"));
  writeFileSync(join(folder.path, "job.yaml"), text);
  return folder;
}

const KEY = { LOCAL_KEY: "key-of-the-test-4711" };
const run = (folder: CliFolder, env: { readonly [name: string]: string } = KEY) =>
  pawl(["run", "job.yaml", "--trust", "--run-id", "m-1"], { cwd: folder.path, env });

describe("a model at an address", () => {
  it("is asked there, with its key and headers, and the run needs no code", async () => {
    const { requests, url, host } = await startServer();
    const model = `{ base_url: "${url}", model: llama3, api_key: "\${LOCAL_KEY}" }`;
    const folder = folderWith(job(model), { domains: [host], environment: ["LOCAL_KEY"] });
    const { exitCode, stdout } = await run(folder);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: "Served here.\n" });
    expect(requests).toMatchObject([
      { path: "/v1/chat/completions", authorization: "Bearer key-of-the-test-4711" },
    ]);
    expect(JSON.parse(requests[0]?.body ?? "")).toMatchObject({
      model: "llama3",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Who are you?" },
      ],
    });
    folder.remove("job.yaml");
    const shown = await pawl(["show", "m-1", "--json"], { cwd: folder.path });
    expect(shown.stdout).toContain("${LOCAL_KEY}");
    expect(shown.stdout).not.toContain("key-of-the-test");
  });

  it("runs as in the example, but for the address", async () => {
    const { url, host } = await startServer();
    const example = readFileSync(new URL("../../../examples/local-model/job.yaml", import.meta.url), "utf8");
    expect(example).toContain("http://127.0.0.1:11434/v1");
    const folder = folderWith(example.replace("http://127.0.0.1:11434/v1", url), { domains: [host] });
    expect((await run(folder)).stdout).toBe("Served here.\n");
  });

  it("is refused if job files may not reach it, read its key, or use such models", async () => {
    const { requests, url, host } = await startServer();
    const model = `{ base_url: "${url}", model: llama3, api_key: "\${LOCAL_KEY}" }`;
    const refused = async (jobs: object | null) => {
      const { exitCode, stderr } = await run(folderWith(job(model), jobs));
      expect(exitCode).toBe(2);
      return stderr.replaceAll(/\s+/g, " ");
    };
    expect(await refused(null)).toContain(
      `models.local reads LOCAL_KEY, which jobs.environment does not list; models.local connects to ${host}, which is not a public host, and jobs.domains does not list it`,
    );
    expect(await refused({ domains: [host] })).toContain("reads LOCAL_KEY, which jobs.environment");
    const rest = { domains: [host], environment: ["LOCAL_KEY"] };
    expect(await refused({ ...rest, models: ["openai/*"] })).toContain(
      'agents.writer asks model "openai-compatible/llama3", which jobs.models does not list',
    );
    expect(requests).toEqual([]);
    const { exitCode } = await run(folderWith(job(model), { ...rest, models: ["openai-compatible/*"] }));
    expect(exitCode).toBe(0);
  });

  it("is shown, with its key's variable, by the question that asks before a new job file runs", async () => {
    const { url, host } = await startServer();
    const model = `{ base_url: "${url}", model: llama3, api_key: "\${LOCAL_KEY}" }`;
    const folder = folderWith(job(model), { domains: [host], environment: ["LOCAL_KEY"] });
    const { exitCode, stderr } = await pawl(["run", "job.yaml"], { cwd: folder.path, env: KEY });
    expect(exitCode).toBe(2);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain(
      `needs access to the variable LOCAL_KEY; the host ${host}: review it`,
    );
  });

  it("does not follow a redirect to another host, and never takes its key along", async () => {
    const other = await startServer();
    const server = await listenOnLoopback(() => ({
      status: 307,
      type: "text/plain",
      headers: { location: `${other.url}/chat/completions` },
      body: "",
    }));
    onTestFinished(() => server.close());
    const model = `{ base_url: "${server.url}/v1", model: llama3, api_key: "\${LOCAL_KEY}" }`;
    const jobs = { domains: [new URL(server.url).host, other.host], environment: ["LOCAL_KEY"] };
    const { exitCode } = await run(folderWith(job(model), jobs));
    expect(exitCode).toBe(1);
    expect(other.requests).toEqual([]);
  });
});

describe("a mistake in a model of a job file", () => {
  it.each([
    [
      "a key in the file itself",
      job("{ base_url: http://127.0.0.1:1/v1, model: m, api_key: sk-1234 }"),
      'pipeline.models.local.api_key: must be an environment variable, ${NAME}, or null for none, not the text "sk-1234".',
    ],
    ["no address", job("{ model: m }"), "pipeline.models.local.baseUrl: is missing: a model needs it."],
    [
      "a misspelt field",
      job("{ base_ur: http://127.0.0.1:1/v1, model: m }"),
      "pipeline.models.local.base_ur: is no field of pipeline.models.local: did you mean base_url?",
    ],
    [
      "a model that no agent names",
      job("{ base_url: http://127.0.0.1:1/v1, model: m }").replace("model: local,", "model: openai/gpt-5.2,"),
      "pipeline.models.local: is a model that is not used: no agent names it. Leave it out, or name it there.",
    ],
    [
      "a variable that is not set",
      job('{ base_url: http://127.0.0.1:1/v1, model: m, api_key: "${NO_KEY}" }'),
      "An environment variable that pipeline local needs is not set: NO_KEY (models.local). Nothing was started; set it and try again.",
    ],
    [
      "a provider that needs an address",
      job("{ base_url: http://127.0.0.1:1/v1, model: m }")
        .replace(/ {2}models:\n.*\n/, "")
        .replace("model: local,", "model: openai-compatible/support,"),
      'Model openai-compatible/support has no address: define it in the job file, `models: { local: { base_url: "http://127.0.0.1:11434/v1", model: "support" } }` under pipeline, and write `model: local`.',
    ],
    [
      "a provider that does not exist",
      job("{ base_url: http://127.0.0.1:1/v1, model: m }")
        .replace(/ {2}models:\n.*\n/, "")
        .replace("model: local,", "model: local/support,"),
      'There is no provider "local" for model local/support, nor a package @ai-sdk/local: use one of openai, anthropic,',
    ],
  ])("is reported in one sentence: %s", async (_, text, message) => {
    const folder = folderWith(text, { domains: ["127.0.0.1:1"], environment: ["NO_KEY"] });
    const { exitCode, stderr } = await run(folder, {});
    expect(exitCode).not.toBe(0);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain(message);
  });
});
