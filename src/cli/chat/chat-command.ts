/** What a person has entered at the prompt. */
export type Entered =
  | { readonly kind: "text"; readonly text: string; readonly steers: boolean }
  | { readonly kind: "nothing" }
  | { readonly kind: "stop" | "quit" | "help" }
  /** What is wrong with it. */
  | { readonly kind: "mistake"; readonly problem: string };

/** Shown by /help. */
export const CHAT_HELP: readonly (readonly [command: string, meaning: string])[] = [
  ["/steer TEXT", "adds to the answer that is being written; any other text waits for its turn"],
  ["/stop", "ends the answer; so does Ctrl-C while it is written"],
  ["/quit", "leaves; so does Ctrl-D. The conversation waits in the store"],
  ["//TEXT", "sends a text that begins with a slash"],
  ["Alt-Enter", "begins a new line, as Ctrl-J does; pasted lines stay together"],
];

export function readEntered(line: string): Entered {
  const text = line.trim();
  if (text === "") return { kind: "nothing" };
  if (text.startsWith("//")) return { kind: "text", text: text.slice(1), steers: false };
  const [, command, rest = ""] = /^\/([a-z]*)(?:\s+(.*))?$/su.exec(text) ?? [];
  switch (command) {
    case undefined:
      return text.startsWith("/") ? unknown(text) : { kind: "text", text, steers: false };
    case "steer":
      return rest === ""
        ? { kind: "mistake", problem: "/steer needs a text: /steer only of this year" }
        : { kind: "text", text: rest, steers: true };
    case "stop":
    case "quit":
    case "help":
      return { kind: command };
    default:
      return unknown(text);
  }
}

function unknown(text: string): Entered {
  const [word = ""] = text.split(/\s/, 1);
  return {
    kind: "mistake",
    problem: `there is no command ${word}: /help lists them, and a text that begins with a slash is sent with two`,
  };
}
