import type { Message } from "../../../src/core/message.ts";
import { type Agent, agent } from "../../../src/index.ts";
import { type Script, scriptedModel } from "../../../src/testing/index.ts";

/** What the users have said in a request, in order. */
export function heardIn(prompt: readonly { readonly role: string; readonly content: unknown }[]): string[] {
  return prompt
    .filter(({ role }) => role === "user")
    .flatMap(({ content }) =>
      typeof content === "string"
        ? [content]
        : (content as readonly { text?: string }[]).map(({ text }) => text ?? "(file)"),
    );
}

/** The same, of a stored history. */
export function heard(history: readonly Message[]): string[] {
  return heardIn(history);
}

export const ECHO: Script = ({ options }) => ({ text: `I heard: ${heardIn(options.prompt).join(" / ")}` });

export function clerk(script: Script = ECHO, over: object = {}): Agent<string> {
  return agent({
    name: "clerk",
    model: scriptedModel(script),
    instructions: "Listen.",
    ...over,
  }) as Agent<string>;
}
