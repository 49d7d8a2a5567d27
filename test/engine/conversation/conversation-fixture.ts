import type { Message } from "../../../src/core/message.ts";
import {
  type ConversationOptions,
  conversation,
  type Json,
  Runner,
  type RunnerOptions,
} from "../../../src/index.ts";
import type { Script, ScriptedTurn } from "../../../src/testing/index.ts";
import { memoryStore, scriptedAgent } from "../run-fixture.ts";

type Said = readonly { readonly role: string; readonly content: unknown }[];

/** What the users have said in a request, in order. */
export function heardIn(prompt: Said): string[] {
  return prompt
    .filter(({ role }) => role === "user")
    .flatMap(({ content }) =>
      typeof content === "string"
        ? [content]
        : (content as readonly { text?: string }[]).map(({ text }) => text ?? "(file)"),
    );
}

/** The same, of a stored history. */
function heard(history: readonly Message[]): string[] {
  return heardIn(history);
}

/** The last thing that a user has said. */
export function lastHeard({ options }: ScriptedTurn): string {
  return heardIn(options.prompt).at(-1) ?? "";
}

export const ECHO: Script = ({ options }) => ({ text: `I heard: ${heardIn(options.prompt).join(" / ")}` });

type AgentParts = Parameters<typeof scriptedAgent>[1];

/** A conversation with a scripted clerk, in a store of its own. */
export async function chat(
  script: Script = ECHO,
  {
    agent: parts = {},
    runner: options = {},
    ...talk
  }: ConversationOptions<Json> & {
    readonly agent?: AgentParts;
    readonly runner?: RunnerOptions;
  } = {},
) {
  const store = options.store ?? (await memoryStore());
  const { agent, prompts } = scriptedAgent(script, { name: "clerk", ...parts });
  const target = conversation(agent, talk);
  const runner = new Runner(target, { ...options, store });
  const say = (text: string, over: Parameters<typeof runner.send>[2] = {}) =>
    runner.send("chat", text, { by: "ann", orStart: {}, ...over });
  return {
    store,
    runner,
    target,
    prompts,
    say,
    /** Works until the conversation waits or has ended. */
    work: () => runner.resume("chat", { wait: true }),
    exchanges: async () =>
      (await store.listExchanges("chat")).map(({ sentBy, firstTurn, lastTurn, outcome }) => [
        sentBy,
        firstTurn,
        lastTurn,
        outcome,
      ]),
    messages: async () =>
      (await store.listMessages("chat")).map(({ body, status, takenBy }) => [
        body,
        status,
        takenBy?.turn ?? null,
      ]),
    history: async () => heard(await store.readHistory("chat", "clerk")),
  };
}

/** A gate that a script waits at, until the test opens it. */
export function gate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    open: () => opened.resolve(),
    pass: async (signal?: AbortSignal) => {
      reached.resolve();
      const aborted = new Promise<never>((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
      await Promise.race([opened.promise, aborted]);
    },
  };
}
