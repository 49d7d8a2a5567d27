import type { StepPath } from "../../core/step-path.ts";
import { factsOf, textIn } from "../event-facts.ts";
import { timeOfDay } from "../figures.ts";
import { code, fence } from "../markdown.ts";
import type { Chapter } from "../run-outline.ts";
import type { Incident } from "../run-story.ts";
import type { TextPieces } from "../text-pieces.ts";
import { askedCall, endedTry, lateTry, startedTry } from "./transcript-call.ts";
import * as ofRun from "./transcript-run.ts";
import type { TranscriptSource } from "./transcript-source.ts";
import * as ofStep from "./transcript-step.ts";
import { answeredModel, responseText } from "./transcript-turn.ts";
import { answeredBy, approvedBy } from "./transcript-wait.ts";

const CHECKPOINTS = {
  milestone: "a milestone is reached",
  step_boundary: "a step has ended",
  phase_boundary: "a phase has ended",
  pre_side_effect: "something outside is about to be changed",
} as const;

/** Writes one attempt after the other: a turn that was begun in one goes on in the next. */
export class ChapterWriter {
  readonly #source: TranscriptSource;
  /** The last turn of each step that was told of: turns are told in their order. */
  readonly #told = new Map<StepPath, number>();
  #turn = "";

  constructor(source: TranscriptSource) {
    this.#source = source;
  }

  /** Paragraph by paragraph, of the incidents of the chapter. */
  async *write(chapter: Chapter, incidents: AsyncIterable<Incident>): TextPieces {
    this.#turn = "";
    yield* ofRun.chapterHead(chapter);
    let isEnded = false;
    for await (const incident of incidents) {
      // What people said after a worker has died, they said after it has died.
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
    const told = await this.#tell(incident);
    const saved =
      checkpoint === null
        ? []
        : [
            `Checkpoint ${checkpoint.checkpoint} keeps the session as it is now: ${CHECKPOINTS[checkpoint.type]}.`,
          ];
    return told.length + saved.length === 0 ? [] : [...this.#turnHeading(incident), ...told, ...saved];
  }

  /** Where another turn is told of than before. What is about a step, or comes from people, is no part of a turn. */
  #turnHeading({ event, step, turnIndex }: Incident): readonly string[] {
    const isTurn = /^(turn|calls?|model)\./.test(event.type);
    if (!isTurn || step === null || turnIndex === null || turnIndex === 0) {
      if (/^(step|lineage)\./.test(event.type)) this.#turn = "";
      return [];
    }
    const turn = `${step.path}#${turnIndex}`;
    if (turn === this.#turn) return [];
    this.#turn = turn;
    const last = this.#told.get(step.path) ?? 0;
    const again = turnIndex <= last ? ", goes on" : "";
    this.#told.set(step.path, Math.max(last, turnIndex));
    return [`#### Turn ${turnIndex} of ${code(step.path)}${again}`];
  }

  async #tell(incident: Incident): Promise<readonly string[]> {
    const { event, step, answered, ended, answer, settled } = incident;
    switch (event.type) {
      case "run.created":
      case "run.traced":
      case "lease.renewed":
      // The model's answer tells of it, or that there will be none.
      case "turn.opened":
        return [];
      case "run.claimed":
        return ofRun.claimedRun(incident);
      case "run.reshaped":
        return ["The steps that follow are not what they were: the run goes on with those there are now."];
      case "run.waiting":
        return ofRun.waitingRun(incident);
      case "run.succeeded":
      case "run.failed":
      case "run.cancelled":
      case "run.queued":
        return this.#runEnd(incident);
      case "run.cancel_requested":
        return ofRun.wantedEnd(incident);
      case "step.begun":
        return step === null ? [] : ofStep.begunStep(step, await this.#source.findGround(step));
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
      case "turn.denied":
        return ofRun.deniedTurn(incident);
      case "model.settled":
        return answered === null ? [] : [answeredModel(answered)];
      case "turn.journaled":
        return this.#response(incident);
      case "turn.committed":
        return [
          ...this.#response(incident),
          ...(await this.#settled(incident)),
          ...(await this.#commit(incident)),
        ];
      case "turn.dropped":
        return ["**The answer is dropped**, and the model is asked again. None of its calls had gone out."];
      case "divergence.accepted":
        return ofStep.acceptedDivergence(incident);
      case "calls.prepared":
      case "calls.started":
        return this.#starts(incident);
      case "call.tried":
      case "call.in_doubt":
        return ended === null ? [] : [endedTry(ended, event.type === "call.in_doubt")];
      // Its receipt, or its try, has it.
      case "call.correlated":
        return [];
      case "call.late":
        return ended === null ? [] : [lateTry(ended)];
      case "call.receipt":
        return this.#settled(incident);
      case "wait.answered":
        return [
          ...(answer === null ? [] : [answeredBy(answer)]),
          ...settled.map((call) => this.#source.settledLine(call)),
        ];
      case "wait.approved":
        return answer === null ? [] : [approvedBy(answer, textIn(factsOf(event), "by"))];
      case "artifact.kept":
        return ofRun.keptArtifact(incident);
      default:
        return [`${code(event.type)} at ${timeOfDay(event.at)}.`];
    }
  }

  #response({ answered, response, isDropped }: Incident): readonly string[] {
    return [
      ...(answered === null ? [] : [answeredModel(answered)]),
      ...(isDropped ? ["What it said was dropped since, and is not kept."] : []),
      ...(response === null ? [] : responseText(response)),
    ];
  }

  /** The message of the run's error belongs to its last end. */
  #runEnd(incident: Incident): readonly string[] {
    const { run, lastSeq } = this.#source.outline;
    return ofRun.endedRun(incident, run, incident.event.seq === lastSeq);
  }

  async #lineage(incident: Incident): Promise<readonly string[]> {
    const { step } = incident;
    return ofStep.begunLineage(incident, step === null ? null : await this.#source.findGround(step));
  }

  async #settled({ settled }: Incident): Promise<readonly string[]> {
    const told: string[] = [];
    for (const call of settled) told.push(await this.#source.settledCall(call));
    return told;
  }

  async #commit({ event, facts, step, turnIndex }: Incident): Promise<readonly string[]> {
    const followUp = await this.#source.findFollowUp(step?.path ?? "", turnIndex ?? 0);
    const done = facts.complete === true ? " The agent is done." : "";
    return [
      ...(followUp === null ? [] : [`**User:**\n\n${fence(followUp)}`]),
      `Committed at ${timeOfDay(event.at)}.${done}`,
    ];
  }

  /** A call of a step's code is told of when it is made, one of a turn with the response. */
  async #starts({ event, wanted, started }: Incident): Promise<readonly string[]> {
    if (wanted.length > 0) return wanted.map(askedCall);
    const told: string[] = [];
    for (const { call, attempt } of started) {
      const before = attempt > 1 ? await this.#source.findTry(call.toolCallId, attempt - 1) : null;
      told.push(startedTry({ call, attempt }, event.at, before));
    }
    return told;
  }
}
