import { z } from "zod";
import { LAST_EVENT_ID, NOT_FOUND, paged, type Route, since } from "./route.ts";
import { cursorQuery, limitQuery, listQuery } from "./schemas/field-schemas.ts";
import * as ledger from "./schemas/ledger.ts";
import * as runs from "./schemas/run.ts";
import * as story from "./schemas/story.ts";
import * as waits from "./schemas/wait.ts";

/** Starting a run, and reading what is stored of it. */
export const RUN_ROUTES = {
  listRuns: {
    tag: "runs",
    summary: "Runs, newest first",
    query: z.object({
      status: listQuery(runs.shownStatus),
      pipeline: listQuery(z.string()),
      queue: z.string().optional(),
      where: listQuery(z.string()).meta({ description: "`tenant=acme`; may be repeated." }),
      ...since,
      q: z
        .string()
        .max(200)
        .optional()
        .meta({ description: "The beginning of a run id, or words of the objective or error." }),
      needs: z.enum(["person"]).optional(),
      toolError: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .meta({ description: "Runs with a call of this tool that failed; `*` for any tool." }),
      ...cursorQuery,
      ...limitQuery(200, 50),
    }),
    answers: { 200: runs.runPage },
  },
  countRuns: { tag: "runs", summary: "How many runs there are, by status", answers: { 200: runs.runCounts } },
  startRun: {
    tag: "acts",
    summary: "Start a run; within the scope of the token the same `Idempotency-Key` is the same run",
    headers: z.object({ "idempotency-key": z.string().min(1).max(500) }),
    body: runs.newRun,
    answers: { 200: runs.startedRun, 201: runs.startedRun },
    problems: { 409: "The key is another run's: `details.differing` says what differs." },
  },
  putRun: {
    tag: "acts",
    summary: "Start a run under an id of your own; again, it is the same run",
    body: runs.newRun,
    answers: { 200: runs.startedRun, 201: runs.startedRun },
    problems: { 409: "The id is another run's: `details.differing` says what differs." },
  },
  getRun: {
    tag: "runs",
    summary: "A run, and what can be done about it",
    answers: { 200: runs.run },
    problems: NOT_FOUND,
  },
  getTimeline: {
    tag: "runs",
    summary: "The story of a run: lives, steps, turns, calls and waits in time",
    query: z.object({
      from: z.coerce.number().int().optional(),
      to: z.coerce.number().int().optional(),
      minMs: z.coerce.number().int().min(0).optional(),
    }),
    answers: { 200: story.timeline },
    problems: NOT_FOUND,
  },
  getTranscript: {
    tag: "runs",
    summary: "The conversation of a run, the newest part by default",
    query: z.object({
      before: z.string().max(2_000).optional(),
      after: z.string().max(2_000).optional(),
      ...limitQuery(200, 50),
    }),
    answers: { 200: story.transcript },
    problems: NOT_FOUND,
  },
  listSteps: {
    tag: "runs",
    summary: "The steps of a run",
    query: paged(200, 100),
    answers: { 200: ledger.stepPage },
    problems: NOT_FOUND,
  },
  listTurns: {
    tag: "runs",
    summary: "The turns of a run",
    query: paged(200, 50),
    answers: { 200: ledger.turnPage },
    problems: NOT_FOUND,
  },
  listCalls: {
    tag: "runs",
    summary: "The ledger of a run: its tool calls",
    query: z.object({
      status: listQuery(z.string()),
      tool: z.string().optional(),
      ...cursorQuery,
      ...limitQuery(200, 100),
    }),
    answers: { 200: ledger.callPage },
    problems: NOT_FOUND,
  },
  getCall: {
    tag: "runs",
    summary: "A tool call, and why it did or did not happen again",
    answers: { 200: ledger.callDetail },
    problems: { 404: "There is no such call." },
  },
  listModelCalls: {
    tag: "runs",
    summary: "The requests to models, and what each cost",
    query: paged(500, 200),
    answers: { 200: ledger.modelCallPage },
    problems: NOT_FOUND,
  },
  listRunWaits: {
    tag: "runs",
    summary: "The waits of a run",
    query: paged(200, 100),
    answers: { 200: waits.waitPage },
    problems: NOT_FOUND,
  },
  listMessages: {
    tag: "runs",
    summary: "The messages to a run",
    query: paged(200, 100),
    answers: { 200: ledger.messagePage },
    problems: NOT_FOUND,
  },
  listCheckpoints: {
    tag: "runs",
    summary: "The checkpoints of a run",
    query: paged(200, 100),
    answers: { 200: ledger.checkpointPage },
    problems: NOT_FOUND,
  },
  listAttempts: {
    tag: "runs",
    summary: "Each time that a worker claimed the run",
    answers: { 200: ledger.attemptList },
    problems: NOT_FOUND,
  },
  getSession: {
    tag: "runs",
    summary: "The typed state of a run",
    answers: { 200: ledger.sessionDocument },
    problems: NOT_FOUND,
  },
  listEvents: {
    tag: "runs",
    summary: "The log of a run, in order",
    query: z.object({
      after: z.coerce
        .number()
        .int()
        .min(0)
        .default(0)
        .meta({ description: "The number of the last event that is known." }),
      ...limitQuery(1_000, 200),
    }),
    answers: { 200: ledger.eventPage },
    problems: NOT_FOUND,
  },
  listArtifacts: {
    tag: "runs",
    summary: "What the run has made",
    answers: { 200: ledger.artifactList },
    problems: NOT_FOUND,
  },
  getArtifact: {
    tag: "runs",
    summary: "The bytes of an artifact, as a download",
    answers: { 200: "bytes" },
    problems: { 404: "There is no such artifact.", 410: "Its bytes were deleted." },
  },
  getBlob: {
    tag: "runs",
    summary: "The bytes of a large value, as a download",
    answers: { 200: "bytes" },
    problems: { 404: "The run has no such blob.", 410: "Its bytes were deleted." },
  },
  exportRun: {
    tag: "runs",
    summary: "The transcript, trace, log, receipts and artifacts of a run, as a ZIP archive",
    answers: { 200: "bytes" },
    problems: { ...NOT_FOUND, 409: "An artifact has a name that is not safe to unpack." },
  },
  exportRuns: {
    tag: "runs",
    summary: "The same of many runs, a folder for each; `export.json` in the archive lists them",
    body: runs.exportRequest,
    answers: { 200: "bytes" },
    problems: { 404: "There is none of these runs, or all are outside of your scope." },
  },
  watchRun: {
    tag: "live",
    headers: LAST_EVENT_ID,
    summary: "What happens in a run, as it happens, with the answer that is being written",
    query: z.object({
      after: z.string().max(2_000).optional(),
      live: z.enum(["true", "false"]).default("true"),
    }),
    answers: { 200: "stream" },
    problems: NOT_FOUND,
  },
} as const satisfies { readonly [id: string]: Route };
