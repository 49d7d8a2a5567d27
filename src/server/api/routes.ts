import { z } from "zod";
import { OPERATIONS, type OperationId } from "./operations.ts";
import { LAST_EVENT_ID, NOT_FOUND, type Route, SETTLED, since } from "./route.ts";
import { RUN_ROUTES } from "./run-routes.ts";
import { cursorQuery, json, limitQuery, listQuery } from "./schemas/field-schemas.ts";
import * as house from "./schemas/house.ts";
import * as ledger from "./schemas/ledger.ts";
import { liveEvent } from "./schemas/live.ts";
import * as runs from "./schemas/run.ts";
import * as story from "./schemas/story.ts";
import * as waits from "./schemas/wait.ts";
import { WEBHOOK_ROUTES } from "./webhook-routes.ts";

export type { Route } from "./route.ts";

const ROUTES = {
  getHealth: { tag: "server", summary: "Whether the server answers", answers: { 200: house.health } },
  getOpenApi: { tag: "server", summary: "This document", answers: { 200: json } },

  createSession: {
    tag: "access",
    summary: "Sign in with a code or a token; sets the cookie of the session",
    body: house.login,
    answers: { 200: house.me },
    problems: { 401: "The code or token is wrong, expired or used.", 429: "Too many failed tries." },
  },
  deleteSession: { tag: "access", summary: "Sign out", answers: { 204: "empty" } },
  getMe: { tag: "access", summary: "Who makes the request", answers: { 200: house.me } },

  ...RUN_ROUTES,

  forecastRun: {
    tag: "acts",
    summary: "What a resume would do now; changes nothing",
    body: story.forecastRequest,
    answers: { 200: story.forecast },
    problems: { ...NOT_FOUND, 422: "The server does not have the code of this pipeline." },
  },
  verifyRun: {
    tag: "acts",
    summary: "Check that everything stored of the run is what was written",
    answers: { 200: story.verification },
    problems: { ...NOT_FOUND, 429: "It is being verified already." },
  },
  resumeRun: {
    tag: "acts",
    summary: "Ask that a worker resumes the run",
    body: story.resumeRequest,
    answers: { 202: story.resumeOutcome },
    problems: { ...NOT_FOUND, 409: "A worker holds it, it is over, or it has changed since the forecast." },
  },
  cancelRun: {
    tag: "acts",
    summary: "Cancel the run",
    answers: { 200: story.cancelOutcome, 202: story.cancelOutcome },
    problems: NOT_FOUND,
  },
  forkRun: {
    tag: "acts",
    summary: "Make a run that continues from a turn of this one",
    body: story.forkRequest,
    answers: { 201: story.forkOutcome },
    problems: { ...NOT_FOUND, 409: "The run is being worked on, or has a call in doubt." },
  },
  sendMessage: {
    tag: "acts",
    summary: "Send a message to the run",
    body: story.messageRequest,
    answers: { 202: story.messageOutcome },
    problems: { ...NOT_FOUND, 409: "Another message has the same id." },
  },
  stopRun: {
    tag: "acts",
    summary: "End the present exchange of a conversation, and never the run",
    answers: { 200: z.object({ stopped: z.boolean() }) },
    problems: NOT_FOUND,
  },
  bulk: {
    tag: "acts",
    summary: "Cancel or resume many runs",
    body: story.bulkRequest,
    answers: { 200: story.bulkOutcome },
  },

  listWaits: {
    tag: "waits",
    summary: "The waits of all runs: the open ones oldest first, the answered ones newest first",
    query: z.object({
      status: z.enum(["open", "answered"]).default("open"),
      kind: listQuery(runs.waitKind).meta({ description: "By default those that people answer." }),
      runId: z.string().optional(),
      ...cursorQuery,
      ...limitQuery(200, 50),
    }),
    answers: { 200: waits.waitPage },
  },
  getWait: {
    tag: "waits",
    summary: "A wait, with exactly what would be sent",
    answers: { 200: waits.waitDetail },
    problems: { 404: "There is no such wait." },
  },
  approveWait: {
    tag: "waits",
    summary: "Approve a call, with exactly the arguments that were shown",
    body: waits.approval,
    answers: { 200: waits.wait },
    problems: SETTLED,
  },
  denyWait: {
    tag: "waits",
    summary: "Deny a call; the model sees the reason",
    body: waits.denial,
    answers: { 200: waits.wait },
    problems: SETTLED,
  },
  answerWait: {
    tag: "waits",
    summary: "Answer a question",
    body: waits.answer,
    answers: { 200: waits.wait },
    problems: SETTLED,
  },
  settleCall: {
    tag: "waits",
    summary: "Settle a call in doubt",
    body: waits.settlement,
    answers: { 200: ledger.callDetail },
    problems: { 404: "There is no such call.", 409: "It is not in doubt." },
  },

  compareRuns: {
    tag: "reports",
    summary: "Two runs side by side",
    query: z.object({ a: z.string(), b: z.string(), ...cursorQuery, ...limitQuery(100, 20) }),
    answers: { 200: story.comparison },
    problems: NOT_FOUND,
  },
  getSpend: {
    tag: "reports",
    summary: "What requests to models have cost, over time",
    query: z.object({
      ...since,
      bucketMs: z.coerce
        .number()
        .int()
        .min(60_000)
        .max(31 * 86_400_000)
        .optional(),
      by: z.enum(["pipeline"]).optional(),
      pipeline: listQuery(z.string()),
    }),
    answers: { 200: house.spend },
  },
  listErrors: {
    tag: "reports",
    summary: "Failed runs, grouped by their error",
    query: z.object({ since: since.since, ...limitQuery(200, 50) }),
    answers: { 200: house.errorList },
  },
  listToolErrors: {
    tag: "reports",
    summary: "The tools with calls that failed",
    query: z.object(limitQuery(200, 50)),
    answers: { 200: house.toolErrorList },
  },
  listPipelines: {
    tag: "reports",
    summary: "The pipelines that the server or the store knows",
    answers: { 200: house.pipelineList },
  },
  getActivity: {
    tag: "workers",
    summary: "Who holds what, and what waits",
    answers: { 200: house.activity },
  },
  listWorkers: {
    tag: "workers",
    summary: "The workers that have reported",
    answers: { 200: house.workerList },
  },
  listSchedules: { tag: "workers", summary: "The schedules", answers: { 200: house.scheduleList } },
  listFirings: {
    tag: "workers",
    summary: "What became of the planned times of a schedule",
    query: z.object(limitQuery(200, 50)),
    answers: { 200: house.firingList },
    problems: { 404: "There is no such schedule." },
  },
  pauseSchedule: {
    tag: "workers",
    summary: "Pause a schedule",
    answers: { 200: house.scheduleOutcome },
    problems: { 404: "There is no such schedule." },
  },
  resumeSchedule: {
    tag: "workers",
    summary: "Let a paused schedule continue",
    answers: { 200: house.scheduleOutcome },
    problems: { 404: "There is no such schedule." },
  },
  fireSchedule: {
    tag: "workers",
    summary: "Start the run of a schedule now",
    answers: { 200: house.scheduleOutcome },
    problems: { 404: "There is no such schedule." },
  },

  getServer: { tag: "server", summary: "The server and its store", answers: { 200: house.serverInfo } },
  getDoctor: {
    tag: "server",
    summary: "Check the installation and the store, as `pawl doctor` does, and suggest fixes",
    answers: { 200: house.doctor },
  },
  checkIntegrity: {
    tag: "server",
    summary: "Check the database itself; reads all of it",
    answers: { 200: house.integrity },
  },
  listTokens: {
    tag: "access",
    summary: "The tokens, without their secrets",
    answers: { 200: house.tokenList },
  },
  createToken: {
    tag: "access",
    summary: "Make a token; its secret is shown once",
    body: house.newToken,
    answers: { 201: house.createdToken },
  },
  revokeToken: {
    tag: "access",
    summary: "Revoke a token, with the sessions and tokens that were made from it",
    answers: { 204: "empty" },
    problems: { 404: "There is no such token." },
  },
  ...WEBHOOK_ROUTES,
  listAudit: {
    tag: "access",
    summary: "Acts and reads of people, newest first",
    query: z.object({
      who: z.string().optional(),
      act: z.string().optional(),
      target: z.string().optional(),
      ...since,
      ...cursorQuery,
      ...limitQuery(200, 100),
    }),
    answers: { 200: house.auditPage },
  },

  stream: {
    tag: "live",
    headers: LAST_EVENT_ID,
    summary: "Heads, counts and waits of all runs as they change, and the log of one run (`LiveEvent`)",
    query: z.object({
      run: z.string().optional().meta({ description: "The run whose log is sent too." }),
      after: z.coerce
        .number()
        .int()
        .min(0)
        .optional()
        .meta({ description: "The number of its last event that is known." }),
      cursor: z
        .string()
        .max(2_000)
        .optional()
        .meta({ description: "The `id` of the last event, as `Last-Event-ID` has it." }),
    }),
    answers: { 200: "stream" },
    problems: { 503: "Too many streams are open." },
  },

  chat: {
    tag: "chat",
    summary: "A message to a conversation, or answers to its requests for approval (`useChat` of the AI SDK)",
    body: json,
    answers: { 200: "stream" },
    problems: { 404: "There is no such conversation pipeline, or no such chat." },
  },
  streamChat: {
    tag: "chat",
    summary: "The newest answer of a chat, and then live",
    query: z.object({
      from: z
        .string()
        .max(2_000)
        .optional()
        .meta({ description: "The id of the answer to begin with, in the place of the newest." }),
    }),
    answers: { 200: "stream", 204: "empty" },
  },
  listChatMessages: {
    tag: "chat",
    summary: "What the store has of a chat, as UI messages",
    query: z.object({
      before: z.string().max(2_000).optional().meta({ description: "As an earlier answer has given it." }),
    }),
    answers: { 200: json },
    problems: { 404: "There is no such chat." },
  },
  sendChatMessage: {
    tag: "chat",
    summary: "Send a message, and do not wait for the answer",
    body: json,
    answers: { 202: json },
  },
  stopChat: {
    tag: "chat",
    summary: "End the present answer, and never the chat",
    answers: { 200: json },
    problems: { 404: "There is no such chat." },
  },
} as const satisfies { readonly [Id in OperationId]: Route };

/** The route table of the HTTP API. */
export const routes: { readonly [Id in OperationId]: (typeof OPERATIONS)[Id] & (typeof ROUTES)[Id] } =
  Object.fromEntries(
    Object.entries(OPERATIONS).map(([id, operation]) => [id, { ...operation, ...ROUTES[id as OperationId] }]),
  ) as { readonly [Id in OperationId]: (typeof OPERATIONS)[Id] & (typeof ROUTES)[Id] };

/** Schemas that no operation names, and that the document has anyway. */
export const documentedSchemas = { liveEvent };
