import type { StepPath } from "../../core/step-path.ts";
import { factsOf, numberIn, textIn } from "../event-facts.ts";
import { timeOfDay } from "../figures.ts";
import { code, fence } from "../markdown.ts";
import type { Incident } from "../run-incidents.ts";
import type { Chapter } from "../run-outline.ts";
import type { TextPieces } from "../text-pieces.ts";
import { askedCall, endedAttempt, lateAttempt, startedAttempt } from "./transcript-call.ts";
import * as ofExchange from "./transcript-exchange.ts";
import * as ofRun from "./transcript-run.ts";
import type { TranscriptSource } from "./transcript-source.ts";
import * as ofStep from "./transcript-step.ts";
import { answeredModel, responseText } from "./transcript-turn.ts";
import { answeredBy, approvedBy, endedWait } from "./transcript-wait.ts";

const CHECKPOINTS = {
  milestone: "a milestone is reached",
  step_boundary: "a step has ended",
  phase_boundary: "a phase has ended",
  pre_side_effect: "a side effect is about to start",
} as const;

/** Writes one attempt after the other: a turn may begin in one and continue in the next. */
export class ChapterWriter {
  readonly #source: TranscriptSource;
  /** The last turn of each step that was written. Turns come in order. */
  readonly #lastTurns = new Map<StepPath, number>();
  #turn = "";

  constructor(source: TranscriptSource) {
    this.#source = source;
  }

  /** The paragraphs of a chapter, from its incidents. */
  async *write(chapter: Chapter, incidents: AsyncIterable<Incident>): TextPieces {
    this.#turn = "";
    yield* ofRun.chapterHead(chapter);
    let isEnded = false;
    for await (const incident of incidents) {
      // Answers of people that came after the worker's death belong after its end.
      if (!isEnded && chapter.end !== "open" && incident.event.seq > chapter.lastOwnSeq) {
        yield* ofRun.chapterEnd(chapter);
        isEnded = true;
      }
      yield* await this.#paragraphs(incident);
    }
    if (!isEnded) yield* ofRun.chapterEnd(chapter);
  }

  async #paragraphs(incident: Incident): Promise<readonly string[]> {
    const { checkpoint } = incident;
    const written = await this.#write(incident);
    const saved =
      checkpoint === null
        ? []
        : [`Checkpoint ${checkpoint.checkpoint} stores the session: ${CHECKPOINTS[checkpoint.type]}.`];
    if (written.length + saved.length === 0) return [];
    // An exchange that begins with this event comes before its first turn.
    const [exchange, rest] = isOpening(incident) ? splitHeading(written) : [[], written];
    return [...exchange, ...this.#turnHeading(incident), ...rest, ...saved];
  }

  /** A heading where the turn changes. Events about a step, or from people, belong to no turn. */
  #turnHeading({ event, step, turnIndex }: Incident): readonly string[] {
    const isTurn = /^(turn|calls?|model)\./.test(event.type);
    if (!isTurn || step === null || turnIndex === null || turnIndex === 0) {
      if (/^(step|lineage)\./.test(event.type)) this.#turn = "";
      return [];
    }
    const turn = `${step.path}#${turnIndex}`;
    if (turn === this.#turn) return [];
    this.#turn = turn;
    const last = this.#lastTurns.get(step.path) ?? 0;
    const again = turnIndex <= last ? ", continued" : "";
    this.#lastTurns.set(step.path, Math.max(last, turnIndex));
    return [`#### Turn ${turnIndex} of ${code(step.path)}${again}`];
  }

  async #write(incident: Incident): Promise<readonly string[]> {
    const { event } = incident;
    return (
      this.#aboutRun(incident) ??
      (await this.#aboutStep(incident)) ??
      (await this.#aboutTurn(incident)) ?? [`${code(event.type)} at ${timeOfDay(event.at)}.`]
    );
  }

  #aboutRun(incident: Incident): readonly string[] | null {
    const { event, answer, settled } = incident;
    switch (event.type) {
      case "run.created":
      case "run.traced":
        return [];
      case "run.claimed":
        return ofRun.claimedRun(incident);
      case "run.reshaped":
        return ["The steps that follow have changed: the run continues with the current ones."];
      case "run.waiting":
        return ofRun.waitingRun(incident);
      case "run.succeeded":
      case "run.failed":
      case "run.cancelled":
      case "run.queued":
        return [...this.#runEnd(incident), ...incident.wakes.map(endedWait)];
      case "run.cancel_requested":
        return ofRun.requestedCancel(incident);
      case "run.resume_requested":
        return ofRun.requestedResume(incident);
      case "run.moved":
      case "run.arrived":
        return ofRun.movedRun(incident);
      case "wait.answered":
        return [
          ...(answer === null ? [] : [answeredBy(answer)]),
          ...settled.map((call) => this.#source.settledLine(call)),
        ];
      case "run.woken":
        return incident.wakes.map(endedWait);
      case "summary.opened":
        return [];
      case "summary.denied":
        return ofExchange.deniedSummary(incident);
      case "exchange.stop_requested":
        return [
          ...ofExchange.requestedStop(incident),
          ...incident.wakes.map(answeredBy),
          ...settled.map((call) => this.#source.settledLine(call)),
        ];
      case "message.withdrawn":
        return [];
      case "wait.approved":
        return answer === null ? [] : [approvedBy(answer, textIn(factsOf(event), "by"))];
      case "artifact.kept":
        return ofRun.keptArtifact(incident);
      default:
        return null;
    }
  }

  async #aboutStep(incident: Incident): Promise<readonly string[] | null> {
    const { event, step } = incident;
    switch (event.type) {
      case "exchange.ended":
        return this.#endedExchange(incident);
      case "message.sent":
        return [...(await this.#written(incident)), ...incident.wakes.map(endedWait)];
      case "step.begun":
        return step === null ? [] : ofStep.begunStep(step, await this.#source.findAgentSetup(step));
      case "step.resumed":
        return step === null ? [] : ofStep.resumedStep(step);
      case "step.skipped":
        return step === null ? [] : ofStep.skippedStep(step);
      case "step.finished":
        return step === null ? [] : ofStep.finishedStep(step, event.at);
      case "loop.decided":
        return ofStep.decidedLoop(incident);
      case "lineage.begun":
        return [...(await this.#settled(incident)), ...(await this.#lineage(incident))];
      case "divergence.accepted":
        return ofStep.acceptedDivergence(incident);
      default:
        return null;
    }
  }

  async #aboutTurn(incident: Incident): Promise<readonly string[] | null> {
    const { event, answered, ended } = incident;
    switch (event.type) {
      // The event with the model's answer, or without one, covers the rest of it.
      case "turn.opened":
        return this.#taken(incident);
      case "turn.denied":
        return [...(await this.#taken(incident)), ...ofRun.deniedTurn(incident)];
      case "model.settled":
        return answered === null ? [] : [answeredModel(answered)];
      case "turn.journaled":
        // Calls that the provider ran have their receipts already.
        return [...this.#response(incident), ...(await this.#settled(incident))];
      case "turn.committed":
        return [
          ...this.#response(incident),
          ...(await this.#settled(incident)),
          ...(await this.#commit(incident)),
        ];
      case "turn.dropped":
        return ["**The answer is dropped**, and the model is asked again. None of its calls had started."];
      case "calls.prepared":
      case "calls.started":
        return this.#starts(incident);
      case "call.tried":
        return ended === null ? [] : [endedAttempt(ended)];
      case "call.in_doubt":
        return ended === null ? [] : [`${endedAttempt(ended)} Whether it happened is in doubt.`];
      // The receipt or the attempt has the correlation id.
      case "call.correlated":
        return [];
      case "call.late":
        return ended === null ? [] : [lateAttempt(ended)];
      case "call.receipt":
        return this.#settled(incident);
      default:
        return null;
    }
  }

  #response({ answered, response, isDropped }: Incident): readonly string[] {
    return [
      ...(answered === null ? [] : [answeredModel(answered)]),
      ...(isDropped ? ["The answer was dropped later, and is not stored."] : []),
      ...(response === null ? [] : responseText(response)),
    ];
  }

  /** The message of the run's error belongs to its last end. */
  #runEnd(incident: Incident): readonly string[] {
    const { run, lastSeq } = this.#source.outline;
    return ofRun.endedRun(incident, incident.event.seq === lastSeq ? run.error : null);
  }

  async #lineage(incident: Incident): Promise<readonly string[]> {
    const { step, answered, facts } = incident;
    if (facts.reason === "compaction") {
      const asked = answered === null ? [] : [answeredModel(answered)];
      return [...asked, ...ofExchange.compactedHistory(incident, this.#summaryIn(incident))];
    }
    return ofStep.begunLineage(incident, step === null ? null : await this.#source.findAgentSetup(step));
  }

  #summaryIn({ step, facts }: Incident): string {
    const lineage = numberIn(facts, "lineage");
    const begun = this.#source.outline.lineages.find(
      (each) => each.stepPath === step?.path && each.lineage === lineage,
    );
    return begun?.summary ?? "";
  }

  async #settled({ settled }: Incident): Promise<readonly string[]> {
    const texts: string[] = [];
    for (const call of settled) texts.push(await this.#source.settledCall(call));
    return texts;
  }

  async #commit(incident: Incident): Promise<readonly string[]> {
    const { event, facts, step, turnIndex } = incident;
    const followUp = await this.#source.findFollowUp(step?.path ?? "", turnIndex ?? 0);
    const done = facts.complete === true ? " The agent is done." : "";
    return [
      ...(followUp === null ? [] : [`**User:**\n\n${fence(followUp)}`]),
      `Committed at ${timeOfDay(event.at)}.${done}`,
      ...(await this.#completeExchange(incident)),
      // For the next turn, which is opened with the commit.
      ...(await this.#taken(incident)),
    ];
  }

  /** What a turn takes from the mailbox as it is opened. */
  async #taken(incident: Incident): Promise<readonly string[]> {
    const begun = ofExchange.begunExchange(incident);
    const step = incident.step?.path ?? "";
    const texts =
      begun === null ? [] : [ofExchange.exchangeHeading(begun, await this.#source.findExchange(step, begun))];
    texts.push(...ofExchange.uncompactedHistory(incident));
    for (const number of ofExchange.takenIn(incident)) {
      const message = await this.#source.findMessage(number);
      if (message !== null) texts.push(ofExchange.takenText(message));
    }
    return texts;
  }

  async #completeExchange({ facts, step }: Incident): Promise<readonly string[]> {
    const ended = numberIn(facts, "ended");
    const exchange = ended === null ? null : await this.#source.findExchange(step?.path ?? "", ended);
    return exchange === null ? [] : [ofExchange.completeExchange(exchange)];
  }

  async #endedExchange(incident: Incident): Promise<readonly string[]> {
    const { facts, step } = incident;
    const path = step?.path ?? textIn(facts, "step") ?? "";
    const exchange = await this.#source.findExchange(path, numberIn(facts, "exchange") ?? 0);
    return ofExchange.endedExchange(incident, exchange);
  }

  async #written({ facts }: Incident): Promise<readonly string[]> {
    const message = await this.#source.findMessage(numberIn(facts, "message") ?? 0);
    const text = message === null ? null : ofExchange.writtenText(message);
    return text === null ? [] : [text];
  }

  /** A call of a code step is written when it is made, a call of a turn with the response. */
  async #starts({ event, wanted, started }: Incident): Promise<readonly string[]> {
    if (wanted.length > 0) return wanted.map(askedCall);
    const texts: string[] = [];
    for (const { call, attempt } of started) {
      const before = attempt > 1 ? await this.#source.findAttempt(call.toolCallId, attempt - 1) : null;
      texts.push(startedAttempt({ call, attempt }, event.at, before));
    }
    return texts;
  }
}

function isOpening({ event }: Incident): boolean {
  return event.type === "turn.opened" || event.type === "turn.denied";
}

function splitHeading(paragraphs: readonly string[]): readonly [readonly string[], readonly string[]] {
  const count = paragraphs[0]?.startsWith("#### ") === true ? 1 : 0;
  return [paragraphs.slice(0, count), paragraphs.slice(count)];
}
