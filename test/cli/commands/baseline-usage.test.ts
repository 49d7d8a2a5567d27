// A call without figures of the provider is charged its reservation. That figure must not pass for one of the provider.

import { describe, expect, it } from "vitest";
import { agent, Runner } from "../../../src/index.ts";
import { scriptedModel } from "../../../src/testing/index.ts";
import { CliFolder } from "../cli-process.ts";
import { pawl, pawlJson } from "../recording-context.ts";
import { cliFolder, runSamples, SEARCHING } from "../sample-runs.ts";

const CONFIG = `
import { agent } from "<pawl>src/index.ts";
import { defineConfig } from "<pawl>src/engine/definition/config.ts";
import { scriptedModel } from "<pawl>src/testing/scripted-model.ts";

const model = scriptedModel([{ text: "Done.", usage: null }]);
export default defineConfig({ pipelines: { worker: agent({ name: "worker", model }) } });
`;

type Usage = {
  readonly charged: { readonly tokens: number };
  readonly baseline: { readonly charged: { readonly tokens: number }; readonly modelCalls: number };
};

const figures = (count: number) => count.toLocaleString("en-US");

describe("charges without figures of the provider", () => {
  it("are called reservations by `pawl show`", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [{ ...SEARCHING, usage: null }] });
    const { document } = await pawlJson<{ usage: Usage }>(["show", "q-1"], folder);
    const { charged, baseline } = document.usage;
    expect([baseline.modelCalls, charged.tokens - baseline.charged.tokens]).toEqual([1, 15]);
    expect(baseline.charged.tokens).toBeGreaterThan(100);
    const { stdout } = await pawl(["show", "q-1"], { ...folder, columns: 200 });
    expect(stdout).toContain(
      `usage     ${figures(charged.tokens)} tokens (10 in, 5 out) in 2 model calls; of that, ${figures(baseline.charged.tokens)} tokens are reservations: the provider gave no figures for 1 of the calls, and may have billed less\n`,
    );
  });

  it("are not mentioned where there are none", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "q-1": [SEARCHING] });
    const { stdout } = await pawl(["show", "q-1"], { ...folder, columns: 200 });
    expect(stdout).toMatch(/usage +30 tokens \(20 in, 10 out\) in 2 model calls\n/);
    const { document } = await pawlJson<{ usage: Usage }>(["show", "q-1"], folder);
    expect(document.usage.baseline).toEqual({ charged: { tokens: 0, microDollars: 0 }, modelCalls: 0 });
  });

  it("are called reserved by `pawl run`", async () => {
    const folder = new CliFolder(CONFIG);
    const { stderr } = await pawl(["run", "worker", "--input", "Go", "--run-id", "r-1"], {
      cwd: folder.path,
    });
    expect(stderr).toMatch(
      /run r-1 succeeded: 1 step, 1 model call, ([\d,]+) tokens \(\1 of them reserved, for 1 model call without figures from the provider\)\n/,
    );
  });

  it("are in the usage of a result", async () => {
    const worker = agent({ name: "worker", model: scriptedModel([{ text: "Done.", usage: null }]) });
    await cliFolder().withStore(async (store) => {
      const { usage } = await new Runner(worker, { store }).run("Go");
      expect(usage.baseline).toEqual({ charged: usage.charged, modelCalls: 1 });
      expect([usage.inputTokens, usage.charged.tokens > 0]).toEqual([0, true]);
    });
  });
});
