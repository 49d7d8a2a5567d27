import { expect, it } from "vitest";
import { CliFolder } from "../cli-process.ts";
import { pawl } from "../recording-context.ts";

const CONFIG = `
import { Step } from "<pawl>src/index.ts";
const ask = Step.human("ask", { question: "Send the report to Ann?", choices: ["send", "stop"] });
export default { pipelines: { ask } };
`;

it("a question is printed once, as a sentence, with the commands that answer it", async () => {
  const folder = new CliFolder(CONFIG);
  const { exitCode, stdout, stderr } = await pawl(["run", "ask", "--run-id", "y-1"], { cwd: folder.path });
  expect(exitCode).toBe(3);
  expect(`${stdout}${stderr}`.match(/Send the report to Ann\?/g)).toHaveLength(1);
  expect(stdout).toBe(`run y-1 is waiting for a person

y-1~1: Send the report to Ann?
  pawl answer y-1~1 send
  pawl answer y-1~1 stop

then resume with: pawl resume y-1
`);
});
