// The package on the oldest Node that package.json names. It downloads that Node, so only the full test does it.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { IS_FULL_TEST } from "../full-test.ts";
import { packedProject, root, toolsFirst } from "./packed-project.ts";
import { inShell, pageFile, saveFile } from "./pasted-page.ts";

const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly engines: { readonly node: string };
};
const oldest = `${engines.node.replace(">=", "")}.0`;

test.runIf(IS_FULL_TEST)(
  "a run is killed, resumed, shown and verified on the oldest Node",
  { timeout: 300_000 },
  async () => {
    const tools = mkdtempSync(join(tmpdir(), "pawl-oldest-node-"));
    const project = await packedProject({ packages: ["ai"] });
    onTestFinished(() => {
      for (const folder of [tools, project]) rmSync(folder, { recursive: true, force: true });
    });
    writeFileSync(join(tools, "package.json"), '{ "private": true, "allowScripts": { "node": true } }');
    execFileSync("npm", ["install", "--no-fund", "--no-audit", `node@${oldest}`], { cwd: tools });
    const programs = [join(tools, "node_modules/node/bin"), join(project, "node_modules/.bin")];
    const env = { ...toolsFirst, NO_COLOR: "1", PATH: [...programs, toolsFirst.PATH].join(delimiter) };
    const run = (line: string) => inShell(project, line, { env });
    expect((await run("node --version")).stdout).toBe(`v${oldest}\n`);

    const rest = pageFile("README.md", "agent.mts").split("\n").slice(2).join("\n");
    saveFile(project, "agent.mts", pageFile("README.md", "script.mts") + rest);
    const killed = await inShell(project, "node agent.mts", { env, killWhen: /key/ });
    expect(killed).toMatchObject({ stdout: expect.stringMatching(/^refunding 40 euros/), exitCode: null });
    expect(await run("node agent.mts")).toMatchObject({
      stdout: `${killed.stdout}I refunded 40 euros for order A-17. (30 tokens)\n`,
      exitCode: 0,
    });
    expect((await run("pawl show order-A-17")).stdout).toContain("succeeded");
    expect(await run("pawl verify order-A-17")).toMatchObject({ exitCode: 0 });
  },
);
