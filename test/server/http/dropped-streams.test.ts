// Clients that come and go at every moment of a stream, over real sockets: nothing of them stays.

import { getEventListeners } from "node:events";
import type { Server } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createAdaptorServer } from "@hono/node-server";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Store } from "../../../src/index.ts";
import { LongAnswers } from "../../../src/server/http/long-answers.ts";
import { OpenStreams } from "../../../src/server/http/open-streams.ts";
import { SampleRun } from "../../../src/testing/store/sample-run.ts";
import { databaseFile, fileStore } from "../../engine/run-fixture.ts";
import { serverWorld } from "../handlers/server-world.ts";
import { bearer, ORIGIN, testServer } from "../test-server.ts";

const CLIENTS = 500;
const AT_ONCE = 50;

/** A store that answers some reads later, so that clients leave while streams are being opened, and counts looks at it. */
function slowStore(store: Store) {
  const looks = { count: 0 };
  const SLOW: readonly PropertyKey[] = ["getRun", "listChangedRuns", "readProgress", "listEvents"];
  const slow = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const method = value.bind(target) as (...values: unknown[]) => unknown;
      if (name === "commitsSeen") looks.count += 1;
      if (!SLOW.includes(name)) return method;
      return async (...values: unknown[]) => {
        await sleep(3);
        return method(...values);
      };
    },
  });
  return { slow, looks };
}

/** The intervals that were begun and not ended: heartbeats, and looks at access. */
function runningIntervals() {
  const running = new Set<NodeJS.Timeout>();
  const [begin, end] = [globalThis.setInterval, globalThis.clearInterval];
  vi.stubGlobal("setInterval", (...given: Parameters<typeof setInterval>) => {
    const timer = begin(...given);
    running.add(timer);
    return timer;
  });
  vi.stubGlobal("clearInterval", (timer: NodeJS.Timeout) => {
    running.delete(timer);
    end(timer);
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return running;
}

async function served(store: Store) {
  const closing = new AbortController();
  const longAnswers = new LongAnswers(closing.signal, { streamsOfOne: 100 });
  const { handlers } = serverWorld(store);
  const { fetch, token } = testServer({ handlers, longAnswers, maxRequests: 1_000 });
  const auth = bearer(await token("operator"));
  const streams = new OpenStreams();
  const server = createAdaptorServer({
    fetch: async (request, { outgoing }) => streams.over(outgoing, await fetch(request)),
    overrideGlobalObjects: false,
  }) as Server;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return { server, port, auth, longAnswers, closing };
}

const CHAT = JSON.stringify({
  id: "c-1",
  messages: [{ id: "u-1", role: "user", parts: [{ type: "text", text: "Hello" }] }],
  trigger: "submit-message",
});

/** The requests of streams, as they are sent. */
function requests({ authorization }: Record<string, string>): readonly string[] {
  const head = `host: ${new URL(ORIGIN).host}\r\nauthorization: ${authorization}\r\n`;
  const get = (path: string) => `GET ${path} HTTP/1.1\r\n${head}\r\n`;
  return [
    get("/v1/stream"),
    get("/v1/stream?run=run-1"),
    get("/v1/runs/run-1/watch"),
    get("/v1/runs/run-1/watch?live=true"),
    get("/v1/chat/talk/c-1/stream"),
    `POST /v1/chat/talk HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${CHAT.length}\r\n\r\n${CHAT}`,
    `HEAD /v1/stream HTTP/1.1\r\n${head}\r\n`,
  ];
}

const firstBytes = (socket: Socket) => new Promise<unknown>((resolve) => socket.once("data", resolve));

/** The ways to leave. */
const LEAVINGS: readonly ((socket: Socket, i: number) => Promise<unknown>)[] = [
  // Before the headers: at once, or while the stream is being opened.
  async (socket) => socket.destroy(),
  async (socket, i) => {
    await sleep(i % 17);
    socket.destroy();
  },
  // With the first bytes, and as if the machine had crashed.
  async (socket) => {
    await firstBytes(socket);
    socket.resetAndDestroy();
  },
  // Half read, and then nothing for a while.
  async (socket, i) => {
    await firstBytes(socket);
    socket.pause();
    await sleep(i % 23);
    socket.destroy();
  },
  // It says that it sends nothing more, and waits for the server.
  async (socket) => {
    await firstBytes(socket);
    socket.end();
  },
];

async function comeAndGo(port: number, text: string, i: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.write(text);
  socket.on("data", () => undefined);
  await Promise.race([LEAVINGS[i % LEAVINGS.length]?.(socket, i), closed]);
  await closed;
}

test(`of ${CLIENTS} clients that leave at odd moments nothing stays: no slot, no listener, no timer, no look`, {
  timeout: 60_000,
}, async () => {
  const intervals = runningIntervals();
  const store = await fileStore(databaseFile());
  await SampleRun.create(store, "run-1");
  const { slow, looks } = slowStore(store);
  const { server, port, auth, longAnswers, closing } = await served(slow);
  const before = intervals.size;
  const texts = requests(auth);
  let next = 0;
  let most = 0;
  const client = async () => {
    for (let i = next++; i < CLIENTS; i = next++) {
      await comeAndGo(port, texts[i % texts.length] ?? "", i);
      most = Math.max(most, longAnswers.streams);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  expect(most).toBeGreaterThan(5);
  expect(looks.count).toBeGreaterThan(50);
  await expect.poll(() => longAnswers.streams, { timeout: 5_000 }).toBe(0);
  await expect.poll(() => intervals.size, { timeout: 5_000 }).toBe(before);
  // A loaded server may take up a request whose client has left long ago.
  await expect.poll(() => getEventListeners(closing.signal, "abort"), { timeout: 5_000 }).toEqual([]);
  expect(await new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).toBe(0);
  // Nobody looks at the store any more.
  await sleep(50);
  const seen = looks.count;
  await sleep(400);
  expect(looks.count).toBe(seen);
});
