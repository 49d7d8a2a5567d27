import type { Answer } from "./client.ts";

// The documents of the API that more than one page shows. Others are `Answer<"getSpend">` where they are used.

export type RunHead = Answer<"listRuns">["items"][number];
export type RunStatus = RunHead["status"];
export type RunCounts = Answer<"countRuns">;
export type Wait = Answer<"listWaits">["items"][number];
export type WaitDetail = Answer<"getWait">;
export type WaitKind = Wait["kind"];
export type Me = Answer<"getMe">;
export type Amount = RunHead["charged"];
export type Limit = RunHead["limit"];
export type { ServerEvent as LiveEvent } from "../../../src/client/client.ts";
