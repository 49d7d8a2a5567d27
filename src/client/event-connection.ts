import { PawlProblem } from "./pawl-problem.ts";
import { EventParser, type ServerSentEvent } from "./server-sent-events.ts";

const FIRST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 5_000;
/** The server says every 15 seconds that it lives. */
const SILENT_AFTER_MS = 35_000;

/** Makes one request for the stream, from behind the event of this id. */
export type Connect = (lastId: string | null, signal: AbortSignal) => Promise<Response>;

/** Ends the reading for good; null if the stream never ends, so that an end is a connection that was lost. */
export type IsLast = ((event: ServerSentEvent) => boolean) | null;

/**
 * The events of a stream, over as many connections as it takes: one that breaks, ends or is silent is made again behind the
 * last event, after a pause that grows. What the server refuses is final, and thrown.
 */
export async function* connectedEvents(
  connect: Connect,
  isLast: IsLast,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  let lastId: string | null = null;
  for (let failures = 0; !signal.aborted; failures += 1) {
    if (failures > 0) await pause(pauseMs(failures), signal);
    try {
      for await (const event of oneConnection(connect, lastId, signal)) {
        failures = 0;
        lastId = event.id ?? lastId;
        yield event;
        if (isLast?.(event) === true) return;
      }
    } catch (error) {
      if (error instanceof PawlProblem && !error.recoverable) throw error;
    }
  }
}

async function* oneConnection(
  connect: Connect,
  lastId: string | null,
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const left = new AbortController();
  const both = AbortSignal.any([signal, left.signal]);
  let silence = setTimeout(() => left.abort(), SILENT_AFTER_MS);
  try {
    const response = await connect(lastId, both);
    if (!response.ok) throw await PawlProblem.of(response);
    const body: ReadableStream<Uint8Array> | null = response.body;
    const reader = body?.getReader();
    const parser = new EventParser();
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done || value === undefined) return;
      clearTimeout(silence);
      silence = setTimeout(() => left.abort(), SILENT_AFTER_MS);
      yield* parser.push(value);
    }
  } finally {
    clearTimeout(silence);
    left.abort();
  }
}

/** With jitter: a server that comes back is not asked by all of its pages in the same moment. */
function pauseMs(failures: number): number {
  const most = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
  return most * (0.5 + Math.random() / 2);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = () => resolve();
  signal.addEventListener("abort", stop, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", stop);
}
