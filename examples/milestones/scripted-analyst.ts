import { type Script, scriptedModel } from "../../src/testing/index.ts";

/** The files, one for each step of the plan. */
const FILES = ["parser.ts", "printer.ts", "runtime.ts", "store.ts"];

type Prompt = Parameters<Extract<Script, (...args: never[]) => unknown>>[0]["options"]["prompt"];

/**
 * A model that uses only the progress in the prompt: the first remaining step is analysed, and marked as done when the
 * conversation holds its result.
 */
export function scriptedAnalyst(modelId: string, witness: string) {
  return scriptedModel(
    ({ options: { prompt } }) => {
      const system = systemTextOf(prompt);
      if (system.includes("No progress yet")) return plan();
      const remaining = [...system.matchAll(/^- (Analyse (\S+)) \(\w+\)$/gm)];
      const [next] = remaining;
      if (next?.[2] === undefined) return { text: "All four files are analysed: 12 issues." };
      const path = next[2];
      return isAnalysed(prompt, path)
        ? call("planning_update_step", { id: FILES.indexOf(path) + 1, status: "done" })
        : call("analyze_file", { path });
    },
    { modelId, witness },
  );
}

function plan() {
  return call("planning_setup_plan", {
    objective: "Analyse the sources",
    steps: FILES.map((file) => `Analyse ${file}`),
  });
}

function call(name: string, input: object) {
  return { toolCalls: [{ name, input }] };
}

function systemTextOf(prompt: Prompt): string {
  return prompt.map((message) => (message.role === "system" ? message.content : "")).join("\n");
}

/** True if this conversation has called the tool for the file. */
function isAnalysed(prompt: Prompt, path: string): boolean {
  return prompt.some(
    (message) =>
      message.role === "assistant" &&
      message.content.some(
        (part) =>
          part.type === "tool-call" &&
          part.toolName === "analyze_file" &&
          JSON.stringify(part.input).includes(path),
      ),
  );
}
