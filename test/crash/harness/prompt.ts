// How a scripted model reads its prompt.

import type { ScriptedTurn } from "../../../src/testing/index.ts";

type Prompt = ScriptedTurn["options"];

/** The first user message. */
export function labelOf({ prompt }: Prompt): string {
  for (const message of prompt) {
    if (message.role !== "user") continue;
    return message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  }
  return "";
}

/** The tool results in the prompt, as texts. */
export function resultsIn({ prompt }: Prompt): string[] {
  return prompt.flatMap((message) =>
    message.role !== "tool"
      ? []
      : message.content.flatMap((part) =>
          part.type !== "tool-result" || !("value" in part.output)
            ? []
            : [typeof part.output.value === "string" ? part.output.value : JSON.stringify(part.output.value)],
        ),
  );
}
