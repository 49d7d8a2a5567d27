import { ResumeError, SchemaMisfitError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { decideConversation } from "../../core/turn/exchange-decision.ts";
import { CLOSED, mailSubject, type NewMailWait } from "../../core/wait.ts";
import type { ExchangeEnd, ExchangeOutcome, Mailbox } from "../../store/store.ts";
import { personNeeded } from "../call/call-questions.ts";
import { makeReceipt } from "../call/call-receipt.ts";
import type { ConversationStep } from "../definition/conversation-step.ts";
import { cancelled } from "../definition/tool-outcome.ts";
import { reach } from "../run/active-run.ts";
import { ModelCut } from "../run/model-cuts.ts";
import { compactHistory } from "../turn/compact-history.ts";
import { ExchangeOver, MailboxChanged } from "../turn/exchange-over.ts";
import { outOfSyncError } from "../turn/turn-executor.ts";
import type { TurnScope } from "../turn/turn-scope.ts";
import { finalOutput, openScope, openStep, type TurnExecutor, withinAgentSpan } from "./agent-executor.ts";
import type { StepExecution, StepExecutor } from "./step-executor.ts";

/** Executes the exchanges of a conversation, until nobody has written for long enough. Between them the run waits. */
export function conversationExecutor(
  executeTurn: TurnExecutor,
  compact: HistoryCompactor = compactHistory,
): StepExecutor<ConversationStep> {
  return {
    storage: "instance",
    execute(step, execution) {
      const talk = new Talk(step, execution, { executeTurn, compact });
      return withinAgentSpan(step, execution, () => talk.execute());
    },
  };
}

/** Replaces the history by a summary: `compactHistory`, or the forecast's stand-in for it. */
export type HistoryCompactor = typeof compactHistory;

type TalkParts = { readonly executeTurn: TurnExecutor; readonly compact: HistoryCompactor };

/** One worker's part of a conversation. */
class Talk {
  readonly #step: ConversationStep;
  readonly #execution: StepExecution;
  readonly #parts: TalkParts;
  /** Why there is no summary of the turns up to this one. It is not asked for again before the same exchange. */
  #uncompacted: { readonly committed: number; readonly why: string } | null = null;
  #reloads = 0;
  /** The number of the exchange that the next turn belongs to. */
  #exchange = 0;

  constructor(step: ConversationStep, execution: StepExecution, parts: TalkParts) {
    this.#step = step;
    this.#execution = execution;
    this.#parts = parts;
  }

  async execute(): Promise<Json> {
    const { run, path } = this.#execution;
    run.latest.begins(path);
    let scope: TurnScope | null = await openStep(this.#step, this.#execution);
    for (;;) {
      scope ??= await openScope(this.#step, this.#execution);
      const moved: "closed" | "reload" | TurnScope = await this.#move(scope);
      if (moved === "closed") break;
      scope = moved === "reload" ? null : moved;
    }
    scope ??= await openScope(this.#step, this.#execution);
    const output = await finalOutput(scope);
    run.keeper.session.bus.publish("PromptExecuted", { runId: run.runId, step: path, output });
    return output;
  }

  /** Does what comes next. Returns the scope to continue with. */
  async #move(scope: TurnScope): Promise<"closed" | "reload" | TurnScope> {
    const { conversation, run, stepKey } = scope;
    // The messages of a turn that is reserved for were read before the commit that did so.
    if (conversation.openCall !== null) return this.#turn(scope);
    run.stop.cuts.begin();
    const mailbox = await run.store.readMailbox(run.runId, stepKey);
    const { exchange, waiting } = mailbox;
    this.#exchange = exchange?.exchange ?? 0;
    const move = decideConversation({
      exchange:
        exchange === null
          ? null
          : {
              firstTurn: exchange.firstTurn,
              isOpen: exchange.endedAt === null,
              isStopped: exchange.stopRequestedBy !== null,
            },
      committed: conversation.committed,
      isJournaled: conversation.journaled !== null,
      isComplete: conversation.isComplete,
      maxTurns: this.#step.maxTurns,
      hasInput: scope.document.input !== null,
      hasText: waiting.length > 0,
      isTooLong: this.#isTooLong(scope),
      isClosed: mailbox.isClosed,
    });
    switch (move.kind) {
      case "reload":
        return this.#reload(outOfSyncError(scope, conversation.committed + 1, "ahead of this worker"));
      case "close":
        return "closed";
      case "wait":
        throw personNeeded(run, [this.#mailWait(scope, mailbox)]);
      case "end":
        return this.#end(scope, {
          outcome: move.outcome,
          why: move.outcome === "stopped" ? stoppedBy(mailbox) : this.#tooManyTurns(),
        });
      case "replay":
        if (move.isStopped && (await cancelWaitingCalls(scope, stoppedBy(mailbox)))) return "reload";
        return this.#turn(this.#within(scope, mailbox));
      case "turn":
        conversation.taking = { messages: waiting.filter(({ joins }) => joins), begins: false };
        return this.#turn(this.#within(scope, mailbox));
      case "compact":
        return this.#compact(scope);
      case "begin": {
        this.#exchange += 1;
        const messages = move.with === "input" ? [] : waiting.slice(0, 1);
        const uncompacted = this.#whyUncompacted(scope);
        conversation.beginExchange({
          messages,
          begins: true,
          ...(uncompacted === null ? {} : { uncompacted }),
        });
        return this.#turn({ ...scope, lastTurn: conversation.committed + this.#step.maxTurns });
      }
    }
  }

  #isTooLong(scope: TurnScope): boolean {
    const { conversation, fingerprint } = scope;
    const { compaction } = this.#step;
    if (compaction === null || conversation.tokens <= compaction.atTokens) return false;
    // A changed agent that was not accepted stops the run with its next turn.
    const stored = conversation.storedFingerprint?.hash ?? fingerprint;
    return stored === fingerprint && this.#whyUncompacted(scope) === null;
  }

  #whyUncompacted({ conversation: { committed } }: TurnScope): string | null {
    return this.#uncompacted?.committed === committed ? this.#uncompacted.why : null;
  }

  async #compact(scope: TurnScope): Promise<"reload" | TurnScope> {
    const { run, path, conversation } = scope;
    const { compaction } = this.#step;
    if (compaction === null) throw new Error(`Step ${path} has no compaction.`);
    try {
      const outcome = await this.#parts.compact(scope, compaction);
      if (outcome.kind === "compacted") return "reload";
      const { why } = outcome;
      this.#uncompacted = { committed: conversation.committed, why };
      const message = `The history of ${path} was not compacted, and stays as it is: ${why}`;
      run.observe.emit({ type: "warning", runId: run.runId, message });
      return scope;
    } catch (error) {
      if (isOutdated(error)) return this.#reload(error);
      throw error;
    }
  }

  #within(scope: TurnScope, { exchange }: Mailbox): TurnScope {
    const first = exchange?.firstTurn ?? scope.conversation.committed + 1;
    return { ...scope, lastTurn: first - 1 + this.#step.maxTurns };
  }

  async #turn(scope: TurnScope): Promise<"reload" | TurnScope> {
    const { conversation } = scope;
    try {
      await this.#parts.executeTurn(scope, conversation.committed + 1);
      this.#reloads = 0;
      if (conversation.isComplete) this.#announceEnd(scope, "complete", null);
      return scope;
    } catch (error) {
      if (error instanceof MailboxChanged) {
        conversation.taking = null;
        return this.#reload(error);
      }
      if (isOutdated(error)) return this.#reload(error);
      const over = asOver(error);
      if (over === null) throw error;
      const { outcome, message: why, refused } = over;
      if (refused === undefined) return this.#end(scope, { outcome, why });
      await this.#end(scope, { outcome, why, refused });
      // The history has names in place of files, or marks in place of texts, from now on.
      return "reload";
    }
  }

  /** At most once for each turn that may be, in a row: a store that is always ahead would be loaded for ever. */
  #reload(error: Error): "reload" {
    this.#reloads += 1;
    if (this.#reloads > MAX_RELOADS) throw error;
    return "reload";
  }

  /** Ends the open exchange without a complete answer. */
  async #end(scope: TurnScope, end: Omit<ExchangeEnd, "stepKey">): Promise<TurnScope> {
    const { run, path, stepKey, conversation } = scope;
    reach(run, "exchange:before-end", path, conversation.committed);
    await run.store.endExchange(run.fence, { stepKey, ...end });
    reach(run, "exchange:ended", path, conversation.committed);
    conversation.endExchange();
    this.#announceEnd(scope, end.outcome, end.why);
    return scope;
  }

  #announceEnd({ run, path: step }: TurnScope, outcome: ExchangeOutcome, why: string | null): void {
    const { runId } = run;
    run.observe.emit({ type: "exchange.ended", runId, step, exchange: this.#exchange, outcome, why });
  }

  #mailWait({ path }: TurnScope, { exchange }: Mailbox): NewMailWait {
    const { closesAfterMs } = this.#step;
    return {
      kind: "message",
      question: `Conversation ${path} waits for a message.`,
      subject: mailSubject(path, exchange?.exchange ?? 0),
      ...(closesAfterMs === null
        ? {}
        : { due: { inMs: closesAfterMs }, onDue: { action: "answer", value: CLOSED } }),
    };
  }

  #tooManyTurns(): string {
    return `The answer was not complete after ${this.#step.maxTurns} turns, the maxTurns of the conversation.`;
  }
}

const MAX_RELOADS = 1_000;

/** True if the model was cut off for a message, or if the store is ahead: the conversation continues from there. */
function isOutdated(error: unknown): error is Error {
  return error instanceof ModelCut || (ResumeError.isInstance(error) && !error.irrecoverable);
}

/** How the exchange ends because of an error; null if the error is the run's. */
function asOver(error: unknown): ExchangeOver | null {
  if (error instanceof ExchangeOver) return error;
  // Thrown before the model is asked: nothing of the turn is journaled.
  return SchemaMisfitError.isInstance(error) ? new ExchangeOver("failed", error.message) : null;
}

function stoppedBy({ exchange }: Mailbox): string {
  return `stopped by ${exchange?.stopRequestedBy ?? "somebody"}`;
}

/** Gives the calls of the open turn that were never dispatched a receipt that says so; false if there are none. */
async function cancelWaitingCalls(scope: TurnScope, why: string): Promise<boolean> {
  const { run, options, stepKey, conversation } = scope;
  const { journaled } = conversation;
  const calls =
    journaled?.calls.filter(({ receipt, status }) => receipt === null && status === "prepared") ?? [];
  if (journaled === null || calls.length === 0) return false;
  const { blobThresholdBytes } = options;
  for (const { callIndex, tool } of calls) {
    const outcome = cancelled("stopped", `${tool} was not run: ${why}.`);
    const receipt = makeReceipt(run, { callIndex, blobThresholdBytes }, outcome);
    await run.store.recordReceipt(run.fence, { stepKey, turnIndex: journaled.turnIndex, receipt });
  }
  return true;
}
