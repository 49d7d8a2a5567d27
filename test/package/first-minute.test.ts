// The first minute of a new user, with the package as it is published: the README's example, `pawl init`, the quickstart.

import { cpSync, readFileSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { PATIENCE } from "../patience.ts";
import { packedProject, root, toolsFirst } from "./packed-project.ts";
import { inShell, pageBlocks, pageFile, pastePage, saveFile } from "./pasted-page.ts";
import { refundProvider } from "./refund-provider.ts";

/** A project that lasts as long as its test, and the environment of programs in it. */
async function newProject(...packages: readonly string[]) {
  const project = await packedProject({ packages: ["ai", ...packages] });
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  return { project, env: environmentIn(project) };
}

function environmentIn(project: string): NodeJS.ProcessEnv {
  const path = [join(project, "node_modules/.bin"), toolsFirst.PATH].join(delimiter);
  // An empty key counts as none.
  const keys = { OPENAI_API_KEY: "", ANTHROPIC_API_KEY: "", AI_GATEWAY_API_KEY: "" };
  return { ...toolsFirst, ...keys, PATH: path, NO_COLOR: "1" };
}

const example = pageFile("README.md", "agent.mts");

test(
  "the README's example, killed in the refund, resumes with the same key and asks no model again",
  PATIENCE,
  async () => {
    const { project, env: own } = await newProject("@ai-sdk/openai");
    const provider = await refundProvider();
    onTestFinished(() => provider.close());
    const env = { ...own, ...provider.env };
    saveFile(project, "agent.mts", example);
    const killed = await inShell(project, "node agent.mts", { env, killWhen: /key/ });
    expect(killed).toMatchObject({ stdout: "refunding 40 euros for A-17, key 94f8d0bb\n", exitCode: null });
    expect(provider.asked).toEqual(["gpt-5.2"]);
    const resumed = await inShell(project, "node agent.mts", { env });
    expect(resumed).toEqual({
      stdout: `${killed.stdout}The customer has the money back. (36 tokens)\n`,
      stderr: "",
      exitCode: 0,
    });
    const again = await inShell(project, "node agent.mts", { env });
    expect(again).toEqual({ ...resumed, stdout: "The customer has the money back. (36 tokens)\n" });
    expect(provider.asked).toHaveLength(2);
  },
);

test("the README's example without an API key prints what the README shows", PATIENCE, async () => {
  const { project, env } = await newProject();
  const script = pageFile("README.md", "script.mts");
  const rest = example.split("\n").slice(2).join("\n");
  expect(rest).not.toContain("openai");
  saveFile(project, "agent.mts", script + rest);
  const killed = await inShell(project, "node agent.mts", { env, killWhen: /key/ });
  const resumed = await inShell(project, "node agent.mts", { env });
  const shown = pageBlocks("README.md").find(({ language }) => language === "text");
  expect(killed.stdout + resumed.stdout).toBe(shown?.text);
  expect(resumed).toMatchObject({ stderr: "", exitCode: 0 });
});

test("the README's job asks a person, and continues with the answer", PATIENCE, async () => {
  const { project, env: own } = await newProject("@ai-sdk/openai");
  const provider = await refundProvider();
  onTestFinished(() => provider.close());
  const run = (line: string) => inShell(project, line, { env: { ...own, ...provider.env } });
  saveFile(project, "job.yaml", pageFile("README.md", "job.yaml"));
  expect(await run("npx pawl run job.yaml --run-id answer")).toMatchObject({
    exitCode: 3,
    stdout: expect.stringContaining("  pawl answer answer~1 keep\n"),
  });
  expect(await run("npx pawl answer answer~1 keep && npx pawl resume answer")).toMatchObject({ exitCode: 0 });
  expect((await run("npx pawl show answer")).stdout).toMatch(/^ {2}save +succeeded/m);
  expect(provider.asked).toHaveLength(1);
});

describe("the project of pawl init", () => {
  let project: string;
  let env: NodeJS.ProcessEnv;
  const run = (line: string, killWhen?: RegExp) =>
    inShell(join(project, "mine"), line, { env, ...(killWhen === undefined ? {} : { killWhen }) });

  beforeAll(async () => {
    const packages = ["ai", "@ai-sdk/openai", "@ai-sdk/anthropic", "@types/node", "typescript"];
    project = await packedProject({ packages });
    env = environmentIn(project);
    const init = (line: string) => inShell(project, line, { env });
    expect(await init("npx pawl init mine")).toMatchObject({ exitCode: 0, stderr: "" });
    for (const [folder, key] of [
      ["anthropic", "ANTHROPIC_API_KEY"],
      ["gateway", "AI_GATEWAY_API_KEY"],
    ])
      expect(await init(`${key}=k npx pawl init ${folder}`)).toMatchObject({ exitCode: 0, stderr: "" });
    saveFile(project, "mine/bank.ts", readFileSync(join(project, "mine/bank.ts"), "utf8"));
  }, PATIENCE.timeout);

  afterAll(() => rmSync(project, { recursive: true, force: true }));

  test("has no type error and is formatted, with the model of each provider", async () => {
    // One compilation for all of them.
    cpSync(join(project, "mine/tsconfig.json"), join(project, "tsconfig.json"));
    expect(await inShell(project, "npx tsc", { env })).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    const check = `biome check --config-path=${root} mine anthropic gateway`;
    expect(await inShell(project, check, { env })).toMatchObject({ exitCode: 0 });
  });

  test("passes its own test", PATIENCE, async () => {
    const { stdout, exitCode } = await run("npm test");
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("every promise kept")]);
  });

  test("pays once for each order when it is killed in a payment", PATIENCE, async () => {
    const killed = await run("node main.ts", /answers/);
    expect(killed.stdout).toContain("bank: pays 40 euros for order A-17\n");
    const resumed = await run("npm start");
    expect(resumed.stdout).toContain("bank: has already paid 40 euros for order A-17\n");
    expect(resumed.stdout).toContain("I refunded 40 euros for order A-17. (30 tokens)\n");
    expect(await run("npx pawl run job.yaml")).toMatchObject({ exitCode: 0 });
    const payments = readFileSync(join(project, "mine/payments.log"), "utf8").trimEnd().split("\n");
    expect(payments.map((line) => line.replace(/, key .*/, ""))).toEqual([
      "40 euros for order A-17",
      "40 euros for order B-4",
    ]);
  });
});

test("the quickstart works block by block, and prints what it shows", PATIENCE, async () => {
  const { project, env } = await newProject();
  const { ran, problems } = await pastePage(project, "docs/quickstart.md", env);
  expect(problems).toEqual([]);
  expect(ran).toBeGreaterThanOrEqual(10);
});
