import type {
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
} from "@ai-sdk/provider";
import type { LiveListener } from "../../core/turn/live-part.ts";
import { makeCallIds } from "./ai-sdk-call-ids.ts";

type StreamPart<T extends LanguageModelV4StreamPart["type"]> = Extract<
  LanguageModelV4StreamPart,
  { type: T }
>;
type TextKind = "text" | "reasoning";
type Metadata = LanguageModelV4ToolCall["providerMetadata"];

/** A part of the answer whose deltas are still coming. */
type OpenText = {
  readonly index: number;
  readonly kind: TextKind;
  text: string;
  metadata: Metadata;
};
type OpenCall = {
  readonly index: number;
  /** As the provider gave it, and as it is used. */
  readonly givenId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  isTold: boolean;
  /** Null until the provider has sent the call itself. */
  call: LanguageModelV4ToolCall | null;
};
type Slot = OpenText | OpenCall | { readonly whole: LanguageModelV4Content };

/** Anthropic's news that a stream begins. Its whole answers do not have it, and an answer of nothing else is an empty one. */
const STREAM_BEGINS = "anthropic.message_start";

/**
 * The parts of an answer, put together from a stream in the order in which they began. Each delta is passed on as it
 * comes; the answer itself is made of the parts alone.
 */
export class StreamedContent {
  readonly #slots: Slot[] = [];
  readonly #texts = new Map<string, OpenText>();
  readonly #calls: OpenCall[] = [];
  readonly #idOf = makeCallIds();
  readonly #live: LiveListener;
  /** Of all deltas and arguments. */
  characters = 0;

  constructor(live: LiveListener) {
    this.#live = live;
  }

  get parts(): number {
    return this.#slots.length;
  }

  /** True if the model has written something, which the provider may charge for. */
  get hasOutput(): boolean {
    return this.#slots.length > 0;
  }

  /** Adds a part; one that holds no content changes nothing. */
  add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#open(kindOf(part.type), part.id).metadata = part.providerMetadata;
        return;
      case "text-delta":
      case "reasoning-delta":
        this.#addText(kindOf(part.type), part);
        return;
      case "text-end":
      case "reasoning-end":
        this.#endText(kindOf(part.type), part);
        return;
      case "tool-input-start":
        this.#begin({ ...part, toolCallId: part.id });
        return;
      case "tool-input-delta":
        this.#addInput(part);
        return;
      case "tool-call":
        this.#addCall(part);
        return;
      case "tool-result":
        if (part.preliminary !== true) this.#slots.push({ whole: part });
        return;
      case "custom":
        if (part.kind !== STREAM_BEGINS) this.#slots.push({ whole: part });
        return;
      case "file":
      case "reasoning-file":
      case "source":
      case "tool-approval-request":
        this.#slots.push({ whole: part });
        return;
      case "stream-start":
      case "response-metadata":
      case "tool-input-end":
      case "finish":
      case "error":
      case "ping":
      case "raw":
    }
  }

  /** The answer, as `doGenerate` would have given it. A call whose end never came is not in it. */
  get content(): LanguageModelV4Content[] {
    return this.#slots.flatMap((slot): LanguageModelV4Content[] => {
      if ("whole" in slot) return [slot.whole];
      if ("call" in slot) return slot.call === null ? [] : [slot.call];
      const { kind: type, text, metadata } = slot;
      return [{ type, text, ...(metadata === undefined ? {} : { providerMetadata: metadata }) }];
    });
  }

  #open(kind: TextKind, id: string): OpenText {
    const opened: OpenText = { index: this.#slots.length, kind, text: "", metadata: undefined };
    this.#slots.push(opened);
    this.#texts.set(`${kind} ${id}`, opened);
    return opened;
  }

  #addText(
    kind: TextKind,
    { id, delta, providerMetadata }: StreamPart<"text-delta" | "reasoning-delta">,
  ): void {
    const open = this.#texts.get(`${kind} ${id}`) ?? this.#open(kind, id);
    open.metadata = providerMetadata ?? open.metadata;
    if (delta === "") return;
    open.text += delta;
    this.characters += delta.length;
    this.#live({ part: open.index, kind, delta });
  }

  #endText(kind: TextKind, { id, providerMetadata }: StreamPart<"text-end" | "reasoning-end">): void {
    const open = this.#texts.get(`${kind} ${id}`);
    if (open === undefined) return;
    open.metadata = providerMetadata ?? open.metadata;
    this.#texts.delete(`${kind} ${id}`);
    this.#live({ part: open.index, kind, delta: "", end: true });
  }

  #begin(call: Pick<LanguageModelV4ToolCall, "toolCallId" | "toolName" | "providerExecuted">): OpenCall {
    const { toolCallId: givenId, toolName } = call;
    const index = this.#slots.length;
    const opened: OpenCall = {
      index,
      givenId,
      toolCallId: this.#idOf(call, index),
      toolName,
      isTold: false,
      call: null,
    };
    this.#slots.push(opened);
    this.#calls.push(opened);
    return opened;
  }

  #addInput({ id, delta }: StreamPart<"tool-input-delta">): void {
    const open = this.#calls.findLast(({ givenId, call }) => givenId === id && call === null);
    if (open === undefined || delta === "") return;
    this.characters += delta.length;
    this.#tell(open, { delta });
  }

  #addCall(part: LanguageModelV4ToolCall): void {
    const open =
      this.#calls.find(({ givenId, call }) => givenId === part.toolCallId && call === null) ??
      this.#begin(part);
    open.call = { ...part, toolCallId: open.toolCallId };
    // Its deltas were counted already, unless it came at once.
    const delta = open.isTold ? "" : (part.input ?? "");
    this.characters += delta.length;
    this.#tell(open, { delta, end: true });
  }

  #tell(open: OpenCall, what: { readonly delta: string; readonly end?: true }): void {
    const { index: part, toolName: tool, toolCallId } = open;
    open.isTold = true;
    this.#live({ part, kind: "tool_input", tool, toolCallId, ...what });
  }
}

function kindOf(type: `${TextKind}-${string}`): TextKind {
  return type.startsWith("text") ? "text" : "reasoning";
}
