// A model writes the questions and choices that people see: no control characters reach their terminal.

import { describe, expect, it } from "vitest";
import { CliFolder } from "../cli-process.ts";
import { pawl } from "../recording-context.ts";

const CONFIG = `
import { agent, askHuman } from "<pawl>src/index.ts";
import { defineConfig } from "<pawl>src/engine/definition/config.ts";
import { scriptedModel } from "<pawl>src/testing/scripted-model.ts";

const input = {
  question: "Which\\u001b[2J one?\\u0007",
  choices: ["\\u001b]0;owned\\u0007red", "blue\\u009b31m", "\\u202eneerg", "two\\r\\nlines"],
};
const asker = agent({
  name: "asker",
  model: scriptedModel([{ toolCalls: [{ name: "ask_human", input }] }, { text: "End." }]),
  instructions: "Ask.",
  tools: { ask_human: askHuman },
});
export default defineConfig({ pipelines: { asker } });
`;

/** Control characters. The line feed is the program's own. */
const OBEYED = /[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u;

describe("a question and its choices", () => {
  it.each([["run"], ["resume"], ["waits"], ["show"]])(
    "are shown by pawl %s without control characters",
    async (command) => {
      const folder = new CliFolder(CONFIG);
      const started = await pawl(["run", "asker", "--input", "Go", "--run-id", "w-1"], { cwd: folder.path });
      const asked =
        command === "run"
          ? started
          : await pawl([command, ...(command === "waits" ? [] : ["w-1"])], { cwd: folder.path });
      const written = asked.stdout + asked.stderr;
      expect(written).toContain("Which␛[2J one?");
      expect(OBEYED.exec(written)).toBeNull();
      for (const choice of ["␛]0;owned␇red", "blue\\u009b31m", "\\u202eneerg"])
        expect(written).toContain(choice);
    },
  );
});
