import type { ServerEvent } from "./client-types.ts";
import { PawlProblem } from "./pawl-problem.ts";
import { EventParser } from "./server-sent-events.ts";

const FIRST_PAUSE_MS = 300;
/** A server that is started again is there within half a minute: until then, its readers follow within a second. */
const SHORT_PAUSE_MS = 1_000;
const SHORT_PAUSES = 40;
const LONGEST_PAUSE_MS = 5_000;
/** The server says every 15 seconds that it lives. A connection that is half open would never end by itself. */
const SILENT_AFTER_MS = 35_000;

/** Makes one request for the stream, from behind the event of this id. */
export type Connect = (lastId: string | null, signal: AbortSignal) => Promise<Response>;

/** An event of the server: all of them have JSON as their data. */
export type StreamedEvent = { readonly event: string; readonly data: unknown; readonly id: string | null };

type EventConnection = {
  readonly connect: Connect;
  readonly signal: AbortSignal;
  /** The last event that was received before. */
  readonly lastId?: string | null;
  /** Ends the reading for good. Without it the stream never ends, so that an end is a connection that was lost. */
  readonly isLast?: (event: StreamedEvent) => boolean;
  /** Whether a refusal is thrown, and not waited out. By default if the same request cannot succeed later. */
  readonly isFinal?: (problem: PawlProblem) => boolean;
  /** The server answered, or sent bytes: a comment will do. */
  readonly onSign?: () => void;
  readonly onLost?: () => void;
  /** Resolves after the time, or with the signal. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
};

/**
 * The events of a stream, over as many connections as it takes: one that breaks, ends or is silent is made again behind the
 * last event, after a pause that grows. `EventSource` would give up for good at the first 502 of a proxy.
 */
export async function* connectedEvents({
  lastId: first = null,
  isFinal = ({ recoverable }) => !recoverable,
  pause = pauseFor,
  ...connection
}: EventConnection): AsyncGenerator<StreamedEvent, void, undefined> {
  const { signal, isLast, onLost } = connection;
  let lastId = first;
  for (let failures = 0; !signal.aborted; failures += 1) {
    if (failures > 0) {
      onLost?.();
      await pause(pauseMs(failures), signal);
    }
    try {
      for await (const event of oneConnection(connection, lastId)) {
        failures = 0;
        lastId = event.id ?? lastId;
        yield event;
        if (isLast?.(event) === true) return;
      }
    } catch (error) {
      // A page of a proxy in the place of the server's next answer may pass.
      const isProxy = error instanceof PawlProblem && error.code === "not_pawl" && lastId !== null;
      if (error instanceof PawlProblem && !isProxy && isFinal(error)) throw error;
    }
  }
}

/** What `/v1/stream` sends. The server checks each event against its schema. */
export function serverEvent({ event, data }: StreamedEvent): ServerEvent {
  return { event, data } as ServerEvent;
}

async function* oneConnection(
  { connect, signal, onSign }: EventConnection,
  lastId: string | null,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const left = new AbortController();
  const both = AbortSignal.any([signal, left.signal]);
  let silence = setTimeout(() => left.abort(), SILENT_AFTER_MS);
  const sign = () => {
    clearTimeout(silence);
    silence = setTimeout(() => left.abort(), SILENT_AFTER_MS);
    onSign?.();
  };
  try {
    const response = await connect(lastId, both);
    if (!response.ok) throw await PawlProblem.of(response);
    if (/^text\/html\b/.test(response.headers.get("content-type") ?? ""))
      throw await PawlProblem.notPawl(response);
    sign();
    const body: ReadableStream<Uint8Array> | null = response.body;
    const reader = body?.getReader();
    const parser = new EventParser();
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done || value === undefined) return;
      sign();
      for (const { event, data, id } of parser.push(value)) yield { event, data: JSON.parse(data), id };
    }
  } finally {
    clearTimeout(silence);
    left.abort();
  }
}

/** With jitter: a server that comes back is not asked by all of its pages in the same moment. */
function pauseMs(failures: number): number {
  const longest = failures > SHORT_PAUSES ? LONGEST_PAUSE_MS : SHORT_PAUSE_MS;
  const most = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), longest);
  return most * (0.5 + Math.random() / 2);
}

async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = () => resolve();
  signal.addEventListener("abort", stop, { once: true });
  await promise;
  clearTimeout(timer);
  signal.removeEventListener("abort", stop);
}
