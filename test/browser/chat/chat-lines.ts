import type { UIMessage } from "ai";
import type { Page } from "playwright-core";
import { isTextPart, isToolCallPart } from "../../../src/core/message.ts";
import type { Store, ToolCallRecord, TurnRecord } from "../../../src/store/store.ts";

/**
 * A chat as lines, one for each text and each call, with the id of its message: from the page's elements, from messages of
 * the AI SDK, and from the rows of the store. The three must be equal.
 */
export type ChatLines = readonly string[];

const user = (id: string, text: string) => `${id} user: ${text}`;
const assistant = (id: string, text: string) => `${id} assistant: ${text}`;
const steering = (id: string, message: string, text: string) => `${id} steering ${message}: ${text}`;
const call = (id: string, tool: string, state: string) => `${id} ${tool}: ${state}`;

export function linesOfMessages(messages: readonly UIMessage[]): ChatLines {
  return messages.flatMap(({ id, role, parts }) =>
    parts.flatMap((part) => {
      if (part.type === "text") return [role === "user" ? user(id, part.text) : assistant(id, part.text)];
      if (part.type === "steering-message")
        return [steering(id, part.id, part.parts.map((each) => ("text" in each ? each.text : "")).join(""))];
      if (!("toolCallId" in part)) return [];
      const name = part.type === "dynamic-tool" ? part.toolName : part.type.replace(/^tool-/, "");
      return [call(id, name, part.state)];
    }),
  );
}

type Shown = {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly {
    readonly text: string;
    readonly steering?: string;
    readonly tool?: string;
    readonly state?: string;
  }[];
};

/** In the page, which has types of its own. */
const SHOWN = `[...document.querySelectorAll("li[data-id]")].map((li) => ({
  id: li.dataset.id,
  role: li.dataset.role,
  parts: [...li.querySelectorAll(".text, .call")].map((part) => ({
    text: part.textContent, steering: part.dataset.steering, tool: part.dataset.tool, state: part.dataset.state,
  })),
}))`;

export async function linesOfPage(page: Page): Promise<ChatLines> {
  const shown = (await page.evaluate(SHOWN)) as readonly Shown[];
  return shown.flatMap(({ id, role, parts }) =>
    parts.map(({ text, steering: message, tool, state }) => {
      if (tool !== undefined) return call(id, tool, state ?? "");
      if (message !== undefined) return steering(id, message, text);
      return role === "user" ? user(id, text) : assistant(id, text);
    }),
  );
}

export async function linesOfStore(store: Store, runId: string): Promise<ChatLines> {
  const [exchanges, messages, turns] = await Promise.all([
    store.listExchanges(runId),
    store.listMessages(runId),
    store.listTurns(runId),
  ]);
  return exchanges.flatMap(({ stepPath, exchange, firstTurn, lastTurn }) => {
    const id = `${runId}/${stepPath}~${exchange}`;
    const taken = messages.filter(({ takenBy }) => takenBy?.exchange === exchange);
    const last = Math.max(lastTurn ?? 0, ...taken.map(({ takenBy }) => takenBy?.turn ?? 0));
    // A turn that a stop has cut off was not committed, and the next exchange begins with its number.
    const committed = turns.filter((turn) => turn.committed && turn.turnIndex <= (lastTurn ?? 0));
    const numbers = Array.from({ length: last - firstTurn + 1 }, (_, i) => firstTurn + i);
    return numbers.flatMap((turn) => {
      const texts = taken
        .filter(({ takenBy }) => takenBy?.turn === turn)
        .map((message) =>
          turn === firstTurn
            ? user(message.id, textOf(message.body))
            : steering(id, message.id, textOf(message.body)),
        );
      const stored = committed.find(({ turnIndex }) => turnIndex === turn);
      return [...texts, ...(stored === undefined ? [] : linesOfTurn(id, stored))];
    });
  });
}

function textOf(body: unknown): string {
  if (typeof body === "string") return body;
  return String((body as { readonly text?: unknown }).text);
}

function linesOfTurn(id: string, { response, calls }: TurnRecord): ChatLines {
  const states = calls.map(stateOf);
  let i = 0;
  return response.content.flatMap((part) => {
    if (isTextPart(part)) return part.text === "" ? [] : [assistant(id, part.text)];
    return isToolCallPart(part) ? [call(id, part.toolName, states[i++] ?? "none")] : [];
  });
}

function stateOf({ receipt }: ToolCallRecord): string {
  if (receipt === null) return "none";
  if (receipt.status === "cancelled") return "output-denied";
  return receipt.status === "succeeded" ? "output-available" : "output-error";
}
