import type { StepPath } from "../core/step-path.ts";
import type { RunRecord, ToolCallTry, WaitRecord } from "../store/store.ts";
import { timeOfDay } from "./figures.ts";
import { code, fence } from "./markdown.ts";
import type { LargeResults } from "./result-texts.ts";
import { type Chapter, type Incident, isByOthers } from "./run-story.ts";
import type { StepGround } from "./step-ground.ts";
import { askedCall, endedTry, lateTry, settledCall, settledLine, startedTry } from "./transcript-call.ts";
import * as ofRun from "./transcript-run.ts";
import * as ofStep from "./transcript-step.ts";
import { answeredModel, responseText } from "./transcript-turn.ts";
import { answeredBy } from "./transcript-wait.ts";

/** What chapters are written from, beside their own incidents. */
export type TranscriptSource = {
  readonly run: RunRecord;
  readonly lastSeq: number;
  readonly waits: readonly WaitRecord[];
  readonly findTry: (toolCallId: string, attempt: number) => ToolCallTry | null;
  /** What the agent was told after a turn, to make it go on. */
  readonly findFollowUp: (stepPath: StepPath, turnIndex: number) => string | null;
  readonly large: LargeResults;
  readonly grounds: ReadonlyMap<StepPath, StepGround>;
};

const CHECKPOINTS = {
  milestone: "a milestone is reached",
  step_boundary: "a step has ended",
  phase_boundary: "a phase has ended",
  pre_side_effect: "something outside is about to be changed",
} as const;

/** Writes one attempt after the other: a turn that was begun in one goes on in the next. */
export class ChapterWriter {
  readonly #source: TranscriptSource;
  readonly #seen = new Set<string>();
  #turn = "";

  constructor(source: TranscriptSource) {
    this.#source = source;
  }

  write(chapter: Chapter, number: number): readonly string[] {
    this.#turn = "";
    const last = chapter.incidents.findLastIndex(({ event }) => !isByOthers(event)) + 1;
    const paragraphs = (incidents: readonly Incident[]) =>
      incidents.flatMap((incident) => this.#paragraphs(incident));
    const [byWorker, byOthers] = [chapter.incidents.slice(0, last), chapter.incidents.slice(last)];
    const end = ofRun.chapterEnd(chapter);
    return [
      ...ofRun.chapterHead(chapter, number),
      ...paragraphs(byWorker),
      // What people said after a worker has died, they said after it has died.
      ...(chapter.end === "open" ? [...paragraphs(byOthers), ...end] : [...end, ...paragraphs(byOthers)]),
    ];
  }

  #paragraphs(incident: Incident): readonly string[] {
    const { checkpoint } = incident;
    const told = this.#tell(incident);
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
    const again = this.#seen.has(turn) ? ", goes on" : "";
    this.#seen.add(turn);
    return [`#### Turn ${turnIndex} of ${code(step.path)}${again}`];
  }

  #tell(incident: Incident): readonly string[] {
    const { event, step, answered, ended, answer, settled } = incident;
    const ground = step === null ? null : (this.#source.grounds.get(step.path) ?? null);
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
        return ofRun.endedRun(incident, this.#source.run, event.seq === this.#source.lastSeq);
      case "run.cancel_requested":
        return ofRun.wantedEnd(incident);
      case "step.begun":
        return step === null ? [] : ofStep.begunStep(step, ground);
      case "step.resumed":
        return step === null ? [] : ofStep.resumedStep(step);
      case "step.skipped":
        return step === null ? [] : ofStep.skippedStep(step);
      case "step.finished":
        return step === null ? [] : ofStep.finishedStep(step, event.at);
      case "loop.decided":
        return ofStep.decidedLoop(incident);
      case "lineage.begun":
        return [...this.#settled(incident), ...ofStep.begunLineage(incident, ground)];
      case "turn.denied":
        return ofRun.deniedTurn(incident);
      case "model.settled":
        return answered === null ? [] : [answeredModel(answered)];
      case "turn.journaled":
        return this.#response(incident);
      case "turn.committed":
        return [...this.#response(incident), ...this.#settled(incident), ...this.#commit(incident)];
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
          ...settled.map((call) => settledLine(call, this.#source.waits)),
        ];
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

  #settled({ settled }: Incident): readonly string[] {
    return settled.map((call) => settledCall(call, this.#source.waits, this.#source.large));
  }

  #commit({ event, facts, step, turnIndex }: Incident): readonly string[] {
    const followUp = this.#source.findFollowUp(step?.path ?? "", turnIndex ?? 0);
    const done = facts.complete === true ? " The agent is done." : "";
    return [
      ...(followUp === null ? [] : [`**User:**\n\n${fence(followUp)}`]),
      `Committed at ${timeOfDay(event.at)}.${done}`,
    ];
  }

  /** A call of a step's code is told of when it is made, one of a turn with the response. */
  #starts({ event, wanted, started }: Incident): readonly string[] {
    if (wanted.length > 0) return wanted.map(askedCall);
    return started.map((each) =>
      startedTry(each, event.at, this.#source.findTry(each.call.toolCallId, each.attempt - 1)),
    );
  }
}
