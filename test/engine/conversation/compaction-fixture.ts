import type { CompactionOptions, RunEvent, Store } from "../../../src/index.ts";
import type { Script, ScriptedTurn } from "../../../src/testing/index.ts";
import { chat, heardIn, lastHeard } from "./conversation-fixture.ts";

type ChatOptions = NonNullable<Parameters<typeof chat>[1]>;

/** True for the request for a summary. */
export function asksForSummary({ options: { prompt } }: ScriptedTurn): boolean {
  return JSON.stringify(prompt[0]?.content ?? "").includes("summarize");
}

/** A clerk that answers each text with a long sentence, and summarizes with this. */
export function clerk(summary: Script): Script {
  return (turn) => {
    if (!asksForSummary(turn)) return { text: `This is a long answer to the text ${lastHeard(turn)}` };
    if (typeof summary !== "function") throw new Error("A summary is a function of the request.");
    return summary(turn);
  };
}

/** A clerk whose summaries are numbered. */
export function summing(): Script {
  let n = 0;
  return clerk(() => ({ text: `Sum ${++n}.` }));
}

/** A conversation whose history is compacted after each exchange of `clerk`, with its events. */
export async function compacting(
  script: Script = summing(),
  compaction: Partial<CompactionOptions> = {},
  { runner, ...options }: ChatOptions = {},
) {
  const events: RunEvent[] = [];
  const onEvent = (event: RunEvent) => void events.push(event);
  const talk = await chat(script, {
    compaction: { atTokens: 20, ...compaction },
    runner: { onEvent, ...runner },
    ...options,
  });
  return {
    ...talk,
    events,
    /** Says these texts, one after the other, and works after each. */
    tell: async (...texts: readonly string[]) => {
      for (const text of texts) {
        await talk.say(text);
        await talk.work();
      }
    },
    /** What the model was asked, request by request. */
    heard: () => talk.prompts.map((prompt) => heardIn(prompt).join(" / ")),
    warnings: () => events.flatMap((event) => (event.type === "warning" ? [event.message] : [])),
  };
}

/** The lineages of the conversation: the first turn of each, and its summary. */
export async function lineagesIn(store: Store) {
  return (await store.listLineages("chat")).map(({ firstTurn, baseTurn, summary }) => [
    firstTurn,
    baseTurn,
    summary,
  ]);
}

/** Why the exchanges of the conversation began without a summary. */
export async function uncompactedIn(store: Store): Promise<unknown[]> {
  const opened = (await store.listEvents("chat")).filter(({ type }) => type === "turn.opened");
  return opened.map(({ data }) => (data as { readonly uncompacted?: string }).uncompacted ?? null);
}

export const PREFIX = "[Summary of the conversation so far]\n";
