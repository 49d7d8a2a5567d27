// Commands that need nothing of a configuration but its store work although it cannot be loaded.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pawl } from "../recording-context.ts";
import { cliFolder, MAILING, runSamples, SEARCHING } from "../sample-runs.ts";

const BROKEN = {
  "imports a file that does not exist":
    'import { x } from "./missing.ts";\nexport default { pipelines: { x } };\n',
  "needs a package that is not installed":
    'import { openai } from "@ai-sdk/nowhere";\nexport default { pipelines: {} };\nopenai();\n',
  throws: 'throw new Error("No.");\nexport default {};\n',
  "has a wrong option": "export default { pipeline: {} };\n",
};

const COMMANDS = [
  ["ls"],
  ["show", "done-1"],
  ["waits"],
  ["receipts", "done-1"],
  ["verify", "done-1"],
  ["tail", "done-1"],
  ["export", "done-1", "--to", "out"],
  ["approve", "q-1~1"],
  ["deny", "q-2~1", "--why", "No."],
  ["cancel", "q-3"],
] as const;

describe.each(Object.entries(BROKEN))("a configuration that %s", (_, config) => {
  it("does not stop commands that only use the store", async () => {
    const folder = cliFolder();
    await runSamples(folder, { "done-1": [SEARCHING], "q-1": [MAILING], "q-2": [MAILING], "q-3": [MAILING] });
    writeFileSync(join(folder.cwd, "pawl.config.ts"), config);
    for (const command of COMMANDS)
      expect([command, (await pawl(command, folder)).exitCode]).toEqual([command, 0]);
    const { exitCode, stderr } = await pawl(["run", "report"], folder);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("pawl.config.ts");
  });
});
