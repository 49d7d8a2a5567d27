import type { UIMessageChunk } from "ai";
import { isJsonObject } from "../../../core/json.ts";
import type { AssistantPart } from "../../../core/message.ts";
import type { WatchEventOf, WatchedCall } from "../../../engine/watch/watch-event.ts";

/** What went wrong, for `errorText`. */
export type AnswerProblem = {
  /** `failed`, `max_turns`, `budget`, `rolled_back`, or the code of the error that ended the run; `tool` for a call. */
  readonly code: string;
  readonly message: string;
};

/** The tool calls of a message, and what they wait for. */
export class ShownCalls {
  readonly #errorText: (problem: AnswerProblem) => string;
  /** The calls on the page, each with whether the provider runs it. */
  readonly #shown = new Map<string, boolean>();
  /** Those of the step that is open: a reset takes them back. */
  readonly #ofStep = new Set<string>();
  readonly #userWaits = new Set<string>();
  readonly #denied = new Set<string>();

  constructor(errorText: (problem: AnswerProblem) => string) {
    this.#errorText = errorText;
  }

  add(calls: readonly WatchedCall[], content: readonly AssistantPart[]): void {
    for (const { toolCallId, providerCallId } of calls) {
      const part = content.find((each) => each.toolCallId === providerCallId);
      this.#shown.set(toolCallId, part?.providerExecuted === true);
      this.#ofStep.add(toolCallId);
    }
  }

  /** The calls of the step are final. */
  keepStep(): void {
    this.#ofStep.clear();
  }

  /** The calls of the step are no longer on the page. */
  forgetStep(): void {
    for (const id of this.#ofStep) this.#shown.delete(id);
    this.#ofStep.clear();
  }

  receipt({ toolCallId, status, result }: WatchEventOf<"tool.receipt">): UIMessageChunk[] {
    const isProvider = this.#shown.get(toolCallId);
    if (isProvider === undefined) return [];
    const executed = isProvider ? { providerExecuted: true } : {};
    if (this.#denied.has(toolCallId)) return [{ type: "tool-output-denied", toolCallId }];
    const isGood = (status === "succeeded" || status === "deduplicated") && result.type !== "error-text";
    if (isGood) return [{ type: "tool-output-available", toolCallId, output: result.value, ...executed }];
    const message = result.type === "error-text" ? result.value : "";
    const errorText = this.#errorText({ code: "tool", message });
    return [{ type: "tool-output-error", toolCallId, errorText, ...executed }];
  }

  /** A question for the user of the chat is a request for an approval; any other one only shows that the answer waits. */
  waitOpened({ waitId, kind, toolCallId, subject }: WatchEventOf<"wait.opened">): UIMessageChunk[] {
    // A conversation that waits for the next message.
    if (kind === "message" && toolCallId === null) return [];
    const isForUser = kind === "approval" && isJsonObject(subject) && subject.approver === "user";
    if (isForUser && toolCallId !== null && this.#shown.has(toolCallId)) {
      this.#userWaits.add(waitId);
      return [{ type: "tool-approval-request", approvalId: waitId, toolCallId }];
    }
    return [waitChunk(waitId, { kind, toolCallId, isOpen: true })];
  }

  waitAnswered({ waitId, kind, toolCallId, answer }: WatchEventOf<"wait.answered">): UIMessageChunk[] {
    if (kind === "message" && toolCallId === null) return [];
    if (!this.#userWaits.delete(waitId)) return [waitChunk(waitId, { kind, toolCallId, isOpen: false })];
    const approved = answer !== null && "approved" in answer && answer.approved;
    if (!approved && toolCallId !== null) this.#denied.add(toolCallId);
    return [{ type: "tool-approval-response", approvalId: waitId, approved }];
  }

  /** True if the user has to answer one of the waits that are open. */
  asksUser(open: readonly string[]): boolean {
    return open.some((waitId) => this.#userWaits.has(waitId));
  }
}

/** A later one with the same id replaces it. */
function waitChunk(
  id: string,
  data: { readonly kind: string; readonly toolCallId: string | null; readonly isOpen: boolean },
): UIMessageChunk {
  return { type: "data-pawl-wait", id, data };
}
