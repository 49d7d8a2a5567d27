// Mistakes on the command line and in job files.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CliFolder, startPawl } from "../cli/cli-process.ts";
import { pawl } from "../cli/recording-context.ts";
import { type Mistake, said } from "./mistake.ts";

const CONFIG = `
import { Step, tool, Pipeline } from "<pawl>src/index.ts";
import { z } from "<pawl>node_modules/zod/index.js";
const send = tool({ name: "send", description: "Sends.", inputSchema: z.object({ to: z.string() }), effect: "external", approval: true, execute: () => "sent" });
export default { pipelines: { report: Pipeline.of("report", Step.human("ask", { question: "Send it?", choices: ["yes", "no"] })), mail: Step.run("mail", (_: unknown, ctx) => ctx.call(send, { to: "Ann" })) } };
`;

type Files = { readonly [name: string]: string };

/** Types these commands one after the other, and throws what the last one prints. */
async function typed(files: Files, ...commands: readonly (readonly string[])[]): Promise<never> {
  const folder = new CliFolder(files["pawl.config.ts"] ?? CONFIG);
  if (files["pawl.config.ts"] === "") folder.remove("pawl.config.ts");
  mkdirSync(join(folder.path, ".git"));
  for (const [name, text] of Object.entries(files))
    if (text !== "") writeFileSync(join(folder.path, name), text);
  let printed = "";
  for (const command of commands) {
    const { stdout, stderr, exitCode } = await pawl(command, { cwd: folder.path, columns: 1_000 });
    if (exitCode === 0 && command === commands.at(-1)) return `(exit code 0) ${stdout}` as never;
    printed = stderr.replaceAll(folder.path, "<folder>").trim();
  }
  throw said(printed);
}

/** The same in a process of its own: only there is a configuration loaded by Node itself. */
async function started(files: Files, ...command: readonly string[]): Promise<never> {
  const folder = new CliFolder(files["pawl.config.ts"] ?? CONFIG);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
  const { stdout, stderr } = await startPawl(folder.path, ...command).ended();
  throw said(`${stdout}${stderr}`.replaceAll(folder.path, "<folder>").trim());
}

const first = ["run", "report", "--run-id", "r-1"];
const NO_CONFIG = { "pawl.config.ts": "" };
const job = (text: string) => ({ "job.yaml": text });
const RUN_JOB = ["run", "job.yaml", "--trust"];
const model = (name: string) =>
  job(
    `objective: x\npipeline:\n  name: p\n  agents: { a: { model: ${name} } }\n  steps:\n    - { name: s, agent: a }\n`,
  );

export const commandMistakes: readonly Mistake[] = [
  {
    what: "a misspelt command",
    make: () => typed({}, ["shwo"]),
    says: "error: unknown command 'shwo' (did you mean show?): see `pawl --help`.",
    grade: "A+",
  },
  {
    what: "an unknown flag",
    make: () => typed({}, ["ls", "--stauts", "failed"]),
    says: "error: unknown option '--stauts' (did you mean --status?): see `pawl ls --help`.",
    grade: "A+",
  },
  {
    what: "a status that does not exist",
    make: () => typed({}, ["ls", "--status", "done"]),
    says: "error: option '--status <status>' argument 'done' is invalid. Allowed choices are queued, running, interrupted, waiting, succeeded, failed, cancelled, moved: see `pawl ls --help`.",
    grade: "A",
  },
  {
    what: "a limit that is no number",
    make: () => typed({}, ["ls", "--limit", "many"]),
    says: 'error: --limit is "many": give a whole number of at least 1.',
    grade: "A",
  },
  {
    what: "a missing argument",
    make: () => typed({}, ["show"]),
    says: "error: missing required argument 'run': see `pawl show --help`.",
    grade: "B",
  },
  {
    what: "a command before the first run",
    make: () => typed({}, ["ls"]),
    says: "error: There is no database at <folder>/.pawl/pawl.db yet: start a run first (`pawl run`), or name another one with --store.",
    grade: "A",
  },
  {
    what: "a run id that does not exist",
    make: () => typed({}, first, ["show", "r-7777"]),
    says: "error: There is no run r-7777 in this store: `pawl ls` lists the runs, and --store names another store.",
    grade: "A",
  },
  {
    what: "a misspelt pipeline",
    make: () => typed({}, ["run", "reprot"]),
    says: 'error: There is no pipeline "reprot": did you mean report?',
    grade: "A+",
  },
  {
    what: "a pipeline without a configuration",
    make: () => typed(NO_CONFIG, ["run", "report"]),
    says: 'error: There is no pipeline "report": there is no pawl.config.ts here or above; write one, name it with --config, or change to its folder.',
    grade: "A",
  },
  {
    what: "a configuration that does not exist",
    make: () => typed({}, ["run", "report", "--config", "other.ts"]),
    says: "error: There is no configuration file at other.ts: check --config.",
    grade: "A",
  },
  {
    what: "a configuration with a broken import",
    make: () =>
      typed(
        { "pawl.config.ts": 'import { x } from "./missing.ts";\nexport default { pipelines: { x } };\n' },
        ["run", "report"],
      ),
    says: "error: pawl.config.ts: it imports ./missing.ts, which does not exist: import files with their extension, such as .ts.",
    grade: "A",
  },
  {
    what: "a configuration with a syntax error",
    make: () => started({ "pawl.config.ts": "export default { pipelines: { \n" }, "run", "report"),
    says: "error: pawl.config.ts:1: it cannot be read as TypeScript: Unexpected token `<eof>`. Expected identifier, string literal, numeric literal or [ for the computed key.",
    grade: "A",
  },
  {
    what: "a configuration in a CommonJS package",
    make: () => started({ "package.json": '{ "type": "commonjs" }' }, "run", "report"),
    says: 'error: pawl.config.ts:2: its package.json says "type": "commonjs", and the file is an ES module: rename it to pawl.config.mts (or .mjs).',
    grade: "A",
  },
  {
    what: "a configuration without a default export",
    make: () => typed({ "pawl.config.ts": "export const pipelines = {};\n" }, ["run", "report"]),
    says: "error: pawl.config.ts: it exports pipelines and has no default export: write `export default defineConfig({ … })`.",
    grade: "A",
  },
  {
    what: "a store that is no address",
    make: () => typed({}, ["ls", "--store", "mysql://localhost/x"]),
    says: 'error: "mysql://localhost/x" is not an address of a store: use "file:./pawl.db" for a SQLite file, "postgres://user@host/database" for PostgreSQL, or ":memory:" for a test.',
    grade: "A",
  },
  {
    what: "a store that does not exist",
    make: () => typed({}, ["ls", "--store", "./elsewhere.db"]),
    says: "error: There is no database at <folder>/elsewhere.db yet: start a run first (`pawl run`), or name another one with --store.",
    grade: "A",
  },
  {
    what: "an answer that is not one of the choices",
    make: () => typed({}, first, ["answer", "r-1~1", "maybe"]),
    says: 'error: "maybe" is none of the answers to r-1~1: use one of "yes", "no".',
    grade: "A",
  },
  {
    what: "an answer to a question that does not exist",
    make: () => typed({}, first, ["answer", "r-1~9", "yes"]),
    says: "error: There is no wait r-1~9 in this store: `pawl waits` lists the open ones.",
    grade: "A",
  },
  {
    what: "approving a question",
    make: () => typed({}, first, ["approve", "r-1~1"]),
    says: "error: Wait r-1~1 is about a question: answer it.",
    grade: "A",
  },
  {
    what: "answering twice",
    make: () => typed({}, first, ["answer", "r-1~1", "yes"], ["answer", "r-1~1", "no"]),
    says: "error: Wait r-1~1 was already answered by tester: the answer stays as it is.",
    grade: "A",
  },
  {
    what: "approving twice",
    make: () => typed({}, ["run", "mail", "--run-id", "r-1"], ["approve", "r-1~1"], ["approve", "r-1~1"]),
    says: "error: Wait r-1~1 was already answered by tester: the answer stays as it is.",
    grade: "A",
  },
  {
    what: "denying without a reason",
    make: () => typed({}, ["run", "mail", "--run-id", "r-1"], ["deny", "r-1~1"]),
    says: "error: A denial needs a reason, which the model sees: add --why 'because …'.",
    grade: "A",
  },
  {
    what: "settling without an outcome",
    make: () => typed({}, ["run", "mail", "--run-id", "r-1"], ["settle", "r-1~1"]),
    says: "error: Give the outcome with one of --succeeded <json>, --retry and --failed <why>.",
    grade: "A",
  },
  {
    what: "an unknown budget",
    make: () => typed({}, first, ["resume", "r-1", "--budget", "max_token=5"]),
    says: 'error: There is no budget "max_token": did you mean maxTokens?',
    grade: "A+",
  },
  {
    what: "an input file that does not exist",
    make: () => typed({}, ["run", "report", "--input", "@none.json"]),
    says: 'error: --input cannot read "none.json" (ENOENT): check the name after the "@".',
    grade: "A",
  },
  {
    what: "a job file that does not exist",
    make: () => typed({}, ["run", "missing.yaml"]),
    says: "error: There is no job file <folder>/missing.yaml: check its path.",
    grade: "A",
  },
  {
    what: "a job file that is not YAML",
    make: () => typed(job("objective: [\n"), RUN_JOB),
    says: `error: <folder>/job.yaml has a mistake:
<folder>/job.yaml:2:1  The indentation is wrong here, or a bracket above is not closed: fields of one object start in the same column.`,
    grade: "A",
  },
  {
    what: "a job file with a tab",
    make: () => typed(job("objective: x\npipeline:\n\tname: p\n"), RUN_JOB),
    says: `error: <folder>/job.yaml has a mistake:
<folder>/job.yaml:3:1  A tab cannot indent in YAML: use spaces.`,
    grade: "A",
  },
  {
    what: "an empty job file",
    make: () => typed(job("# nothing\n"), RUN_JOB),
    says: "error: <folder>/job.yaml is empty: write at least an objective.",
    grade: "A",
  },
  {
    what: "a misspelt field of a job file",
    make: () => typed(job("objectiv: x\npipeline: report\n"), RUN_JOB),
    says: `error: <folder>/job.yaml has 2 mistakes:
<folder>/job.yaml:1:1  objectiv: is no field of a RunSpec: did you mean objective?
<folder>/job.yaml:1:1  objective: is missing: a RunSpec needs it.`,
    grade: "A+",
  },
  {
    what: "a job file without a pipeline",
    make: () => typed(job("objective: x\n"), RUN_JOB),
    says: "error: job.yaml does not say which pipeline it is for: add `pipeline:` with one of report, mail.",
    grade: "A",
  },
  {
    what: "a step that names no agent",
    make: () =>
      typed(
        job(
          "objective: x\npipeline:\n  name: p\n  agents: { writer: { model: openai/x } }\n  steps:\n    - { name: s, agent: writr }\n",
        ),
        RUN_JOB,
      ),
    says: `error: <folder>/job.yaml has a mistake:
<folder>/job.yaml:6:18  pipeline.steps[0].agent: names an agent "writr" that does not exist: did you mean writer?`,
    grade: "A+",
  },
  {
    what: "a provider that does not exist",
    make: () => typed(model("local/support"), RUN_JOB),
    says: 'error: There is no provider "local" for model local/support, nor a package @ai-sdk/local: use one of openai, anthropic, google, google-vertex, amazon-bedrock, azure, mistral, xai, groq, deepseek, cohere, perplexity, togetherai, fireworks, cerebras, deepinfra, vercel, gateway; for a model on a server of your own, define it with its address (base_url) under `models` of the pipeline, or in `models` of pawl.config.ts.',
    grade: "A",
  },
  {
    what: "a provider that is misspelt",
    make: () => typed(model("opnai/gpt-5.2"), RUN_JOB),
    says: 'error: There is no provider "opnai" for model opnai/gpt-5.2: did you mean openai/gpt-5.2?',
    grade: "A+",
  },
  {
    what: "a provider whose package is not installed",
    make: () => typed(model("mistral/large"), RUN_JOB),
    says: "error: Model mistral/large needs the package @ai-sdk/mistral, which is installed neither beside pawl.config.ts nor beside Pawl: run `npm install ai@7 @ai-sdk/mistral` there.",
    grade: "A+",
  },
  {
    what: "a provider that needs an address",
    make: () => typed(model("openai-compatible/x"), RUN_JOB),
    says: 'error: Model openai-compatible/x has no address: define it in the job file, `models: { local: { base_url: "http://127.0.0.1:11434/v1", model: "x" } }` under pipeline, and write `model: local`.',
    grade: "A+",
  },
];
