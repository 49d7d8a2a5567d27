import type { UIMessageChunk } from "ai";
import type { AssistantPart } from "../../../core/message.ts";
import { toolCallId } from "../../../core/step-path.ts";
import type { LivePart } from "../../../core/turn/live-part.ts";
import type { WatchedCall } from "../../../engine/watch/watch-event.ts";
import { chunksOfFile } from "./answer-parts.ts";

type AnswerPlace = { readonly runId: string; readonly step: string; readonly turn: number };

/** A part of an answer: its text, or the arguments of a call as text. */
type AnswerPart = {
  readonly kind: LivePart["kind"];
  readonly id: string;
  readonly tool: string;
  text: string;
  isOpen: boolean;
};

/** What was shown of the answer to one turn while it was written, and what is missing once the whole of it is known. */
export class ShownAnswer {
  readonly #place: AnswerPlace;
  readonly #parts: AnswerPart[] = [];
  /** The index in `#parts` of each number that the live parts have. */
  readonly #byNumber = new Map<number, AnswerPart>();

  constructor(place: AnswerPlace) {
    this.#place = place;
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  /** The chunks of a piece. */
  add({ part: number, kind, delta, tool = "", end }: LivePart): UIMessageChunk[] {
    const known = this.#byNumber.get(number);
    const part = known ?? this.#begin(number, kind, tool);
    part.text += delta;
    // A page takes nothing for a part that has ended: the whole answer shows that something is missing.
    if (!part.isOpen) return [];
    return [
      ...(known === undefined ? [startOf(part)] : []),
      ...(delta === "" ? [] : [deltaOf(part, delta)]),
      ...(end === true ? this.#end(part) : []),
    ];
  }

  #begin(number: number, kind: AnswerPart["kind"], tool: string): AnswerPart {
    const { runId, step, turn } = this.#place;
    // The ledger numbers the calls of an answer in their order: so a call has its id before it has a row.
    const calls = this.#parts.filter((part) => part.kind === "tool_input").length;
    const id =
      kind === "tool_input" ? toolCallId(runId, step, turn, calls + 1) : partId(turn, this.#parts.length);
    const part: AnswerPart = { kind, id, tool, text: "", isOpen: true };
    this.#parts.push(part);
    this.#byNumber.set(number, part);
    return part;
  }

  #end(part: AnswerPart): UIMessageChunk[] {
    if (!part.isOpen) return [];
    part.isOpen = false;
    return endOf(part);
  }

  /**
   * The chunks that are missing now that the answer is whole; null if what was shown is not the beginning of it, so that it
   * has to be taken back first.
   */
  complete(content: readonly AssistantPart[], calls: readonly WatchedCall[]): UIMessageChunk[] | null {
    const chunks: UIMessageChunk[] = [];
    const shown = this.#parts.values();
    let number = 0;
    for (const part of content) {
      const expected = this.#expected(part, calls);
      if (expected === null) {
        chunks.push(...chunksOfFile(part));
        continue;
      }
      const found = shown.next().value;
      const rest = found === undefined ? this.#wholly(expected, number) : this.#rest(found, expected);
      if (rest === null) return null;
      number += 1;
      chunks.push(...rest, ...(expected.input === undefined ? [] : [expected.input]));
    }
    return shown.next().done === true ? chunks : null;
  }

  #expected(part: AssistantPart, calls: readonly WatchedCall[]): ExpectedPart | null {
    if (part.type === "tool-call") return expectedCall(part, calls);
    const isShown = part.type === "text" || part.type === "reasoning";
    if (!isShown || typeof part.text !== "string" || part.text === "") return null;
    return { kind: part.type === "text" ? "text" : "reasoning", text: part.text, id: null, tool: "" };
  }

  #wholly({ kind, text, id, tool }: ExpectedPart, number: number): UIMessageChunk[] {
    if (id !== null) return [];
    const part = { kind, id: partId(this.#place.turn, number), tool };
    return [startOf(part), deltaOf(part, text), ...endOf(part)];
  }

  #rest(found: AnswerPart, { kind, text, id }: ExpectedPart): UIMessageChunk[] | null {
    if (found.kind !== kind) return null;
    if (id !== null) return found.id === id ? [] : null;
    if (!text.startsWith(found.text)) return null;
    const delta = text.slice(found.text.length);
    // One that was ended too early cannot be continued.
    if (delta !== "" && !found.isOpen) return null;
    return [...(delta === "" ? [] : [deltaOf(found, delta)]), ...this.#end(found)];
  }
}

/** The same whether the part was shown while it was written or not, and in every attempt: a reset frees it. */
function partId(turn: number, number: number): string {
  return `${turn}.${number}`;
}

type ExpectedPart = {
  readonly kind: AnswerPart["kind"];
  readonly text: string;
  /** Of a call. */
  readonly id: string | null;
  readonly tool: string;
  readonly input?: UIMessageChunk;
};

function expectedCall(part: AssistantPart, calls: readonly WatchedCall[]): ExpectedPart | null {
  const call = calls.find(({ providerCallId }) => providerCallId === part.toolCallId);
  if (call === undefined) return null;
  const { toolCallId: id, tool, input } = call;
  const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
  return {
    kind: "tool_input",
    text: "",
    id,
    tool,
    input: { type: "tool-input-available", toolCallId: id, toolName: tool, input, ...executed },
  };
}

type PartName = Pick<AnswerPart, "kind" | "id" | "tool">;

function startOf({ kind, id, tool }: PartName): UIMessageChunk {
  if (kind === "tool_input") return { type: "tool-input-start", toolCallId: id, toolName: tool };
  return kind === "text" ? { type: "text-start", id } : { type: "reasoning-start", id };
}

function deltaOf({ kind, id }: PartName, delta: string): UIMessageChunk {
  if (kind === "tool_input") return { type: "tool-input-delta", toolCallId: id, inputTextDelta: delta };
  return kind === "text" ? { type: "text-delta", id, delta } : { type: "reasoning-delta", id, delta };
}

function endOf({ kind, id }: PartName): UIMessageChunk[] {
  if (kind === "tool_input") return [];
  return [kind === "text" ? { type: "text-end", id } : { type: "reasoning-end", id }];
}
