import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { PawlChatTransport } from "../../../src/adapters/chat/pawl-chat-transport.ts";
import { response, text, typed } from "../../engine/watch/streaming-port.ts";
import { IS_FULL_TEST } from "../../full-test.ts";
import { PATIENCE } from "../../patience.ts";
import { chatWorld, said, stored } from "../ai-sdk/chat/chat-world.ts";

const HEADERS = { "x-user": "ann" };

/** A `fetch` whose responses break after so many bytes each; the last number is that of all later ones. */
function breaking(...bytes: readonly number[]) {
  const requests: string[] = [];
  const fetching: typeof fetch = async (url, init) => {
    const limit = bytes[requests.length] ?? Number.POSITIVE_INFINITY;
    requests.push(init?.method ?? "GET");
    const answer = await fetch(url, init);
    return answer.ok && answer.body !== null ? new Response(cut(answer.body, limit), answer) : answer;
  };
  return { fetch: fetching, requests };
}

function cut(body: ReadableStream<Uint8Array>, limit: number): ReadableStream<Uint8Array> {
  let left = limit;
  return body.pipeThrough(
    new TransformStream({
      transform: (piece: Uint8Array, controller) => {
        controller.enqueue(piece.subarray(0, left));
        left -= piece.byteLength;
        if (left <= 0) controller.error(new TypeError("network error"));
      },
    }),
  );
}

/** The message after all chunks of a stream, or what of it there is at the end. */
async function read(stream: ReadableStream<UIMessageChunk>, message?: UIMessage) {
  let last: UIMessage | undefined;
  const given = message === undefined ? {} : { message };
  for await (const state of readUIMessageStream({ stream, ...given })) last = state;
  return last;
}

const sending = (messages: UIMessage[]) => ({
  trigger: "submit-message" as const,
  chatId: "c-1",
  messageId: undefined,
  messages,
  abortSignal: undefined,
});

const FINDS = response([
  { type: "text", text: "I look." },
  { type: "tool-call", toolCallId: "p-1", toolName: "find", input: { order: "7" } },
]);

const REFUNDS = response([
  { type: "tool-call", toolCallId: "p-1", toolName: "refund", input: { order: "7" } },
]);

describe("PawlChatTransport", () => {
  it("reads an answer to its end over connections that break at any byte", PATIENCE, async () => {
    const { api, work, model } = await chatWorld([() => FINDS, typed("It ", "was ", "sent.")]);
    work();
    const whole = new PawlChatTransport({ api, headers: HEADERS });
    const expected = await read(await whole.sendMessages(sending([said("where?")])));
    expect(await stored(api)).toEqual([said("where?"), expected]);
    const replay = await (await fetch(`${api}/c-1/stream`, { headers: HEADERS })).arrayBuffer();
    const step = IS_FULL_TEST ? 5 : 97;
    let cuts = 0;
    for (let at = 1; at < replay.byteLength; at += step, cuts++) {
      const { fetch: broken, requests } = breaking(at, Math.max(1, replay.byteLength - at));
      const transport = new PawlChatTransport({ api, headers: HEADERS, fetch: broken });
      expect(await read(await transport.sendMessages(sending([said("where?")])))).toEqual(expected);
      expect(requests.length).toBeGreaterThan(1);
      const again = breaking(at);
      const resumed = new PawlChatTransport({ api, headers: HEADERS, fetch: again.fetch });
      const stream = await resumed.reconnectToStream({ chatId: "c-1" });
      expect(stream === null ? null : await read(stream)).toEqual(expected);
    }
    expect(cuts).toBeGreaterThan(5);
    expect(model.asked).toBe(2);
  });

  it("takes back what it has of an answer that was withdrawn while the connection was away", async () => {
    const halves = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const { api, work } = await chatWorld([
      async (say) => {
        say(text("Never mi"));
        await halves[0].promise;
        say(text("nd"));
        return response("Another one");
      },
    ]);
    work();
    const { fetch: broken } = breaking(600);
    const transport = new PawlChatTransport({
      api,
      headers: HEADERS,
      fetch: broken,
      onConnection: (state) => state === "lost" && halves[0].resolve(),
    });
    const stream = await transport.sendMessages(sending([said("hi")]));
    setTimeout(() => halves[0].resolve(), 500);
    const message = await read(stream);
    expect(JSON.stringify(message)).not.toContain("Never");
    expect(await stored(api)).toEqual([said("hi"), message]);
  });

  it("continues after an approval over connections that break at any byte", PATIENCE, async () => {
    const step = IS_FULL_TEST ? 40 : 211;
    let cuts = 0;
    for (let at = 1; at < 1_200; at += step, cuts++) {
      const { api, work, refunds } = await chatWorld([() => REFUNDS, typed("Done.")]);
      work();
      const whole = new PawlChatTransport({ api, headers: HEADERS });
      const asked = await read(await whole.sendMessages(sending([said("refund 7")])));
      const answered = approved(asked);
      const { fetch: broken } = breaking(at);
      const transport = new PawlChatTransport({ api, headers: HEADERS, fetch: broken });
      const message = await read(await transport.sendMessages(sending([answered])), answered);
      expect(await stored(api)).toEqual([said("refund 7"), message]);
      expect(refunds).toEqual(["7"]);
    }
    expect(cuts).toBeGreaterThan(4);
  });

  it("completes an answer, although the newest one is another one when the connection is back", async () => {
    const half = Promise.withResolvers<void>();
    const { api, work } = await chatWorld([
      async (say) => {
        say(text("Half"));
        await half.promise;
        return response("Half and half");
      },
      typed("Two."),
    ]);
    work();
    const plain = new PawlChatTransport({ api, headers: HEADERS });
    const first = read(await plain.sendMessages(sending([said("a")])));
    let requests = 0;
    const fetching: typeof fetch = async (url, init) => {
      if (requests++ > 0) return fetch(url, init);
      const answer = await fetch(url, init);
      // Broken at the first word. Before the connection is back, this answer and another one are complete.
      return new Response(answer.body?.pipeThrough(breakAt("Half")), answer);
    };
    const transport = new PawlChatTransport({
      api,
      headers: HEADERS,
      fetch: async (url, init) => {
        if (requests > 0) {
          half.resolve();
          await first;
          await read(await plain.sendMessages(sending([said("b")])));
        }
        return fetching(url, init);
      },
    });
    const stream = await transport.reconnectToStream({ chatId: "c-1" });
    const texts: string[] = [];
    for await (const chunk of stream as unknown as AsyncIterable<UIMessageChunk>)
      if (chunk.type === "text-delta") texts.push(chunk.delta);
    expect(texts.join("")).toMatch(/Half and halfTwo\.$/);
    expect(requests).toBe(2);
  });

  it("tries again while there is no server, and says when the connection is lost and back", async () => {
    const { api, work } = await chatWorld([typed("Here.")]);
    work();
    const states: string[] = [];
    let away = 2;
    const fetching: typeof fetch = async (url, init) => {
      if (away-- > 0) {
        if (away === 1) throw new TypeError("Failed to fetch");
        return new Response("no server", { status: 502 });
      }
      return fetch(url, init);
    };
    const transport = new PawlChatTransport({
      api,
      headers: () => HEADERS,
      fetch: fetching,
      onConnection: (state) => states.push(state),
    });
    const message = await read(await transport.sendMessages(sending([said("hi")])));
    expect(await stored(api)).toEqual([said("hi"), message]);
    expect(states).toEqual(["lost", "back"]);
  });

  it("gives up on a server whose answers break off again and again, after few tries", async () => {
    let requests = 0;
    const fetching: typeof fetch = async () => {
      requests += 1;
      const headers = { "content-type": "text/event-stream" };
      return new Response('data: {"type":"start","messageId":"a"}\n\n', { headers });
    };
    const transport = new PawlChatTransport({ fetch: fetching, giveUpAfterMs: 400 });
    const reader = (await transport.sendMessages(sending([said("hi")]))).getReader();
    await reader.read();
    await expect(reader.read()).rejects.toThrow("again and again");
    expect(requests).toBeLessThan(6);
  });

  it("takes no page of a proxy or of a sign-in for an answer", async () => {
    let requests = 0;
    const fetching: typeof fetch = async () => {
      requests += 1;
      return new Response("<html>Sign in</html>", { headers: { "content-type": "text/html" } });
    };
    const transport = new PawlChatTransport({ fetch: fetching });
    await expect(transport.sendMessages(sending([said("hi")]))).rejects.toThrow("answered with text/html");
    expect(requests).toBe(1);
  });

  it("notices a connection on which nothing comes any more", async () => {
    const { api, work } = await chatWorld([typed("Here.")]);
    work();
    let tries = 0;
    const dead = new ReadableStream<Uint8Array>();
    const fetching: typeof fetch = async (url, init) => {
      tries += 1;
      if (tries === 1) return new Response(dead, { headers: { "content-type": "text/event-stream" } });
      if (tries === 2) return new Promise(() => undefined);
      return fetch(url, init);
    };
    const options = { api, headers: HEADERS, fetch: fetching, silentAfterMs: 50 };
    const message = await read(await new PawlChatTransport(options).sendMessages(sending([said("hi")])));
    expect(await stored(api)).toEqual([said("hi"), message]);
    expect(tries).toBe(3);
  });

  it("ends the connection when its reader leaves, also if nothing comes", async () => {
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const silent = new ReadableStream<Uint8Array>({ cancel: () => resolve() });
    const fetching: typeof fetch = async () =>
      new Response(silent, { headers: { "content-type": "text/event-stream" } });
    const transport = new PawlChatTransport({ fetch: fetching });
    const reader = (await transport.sendMessages(sending([said("hi")]))).getReader();
    void reader.read();
    await reader.cancel();
    await closed;
  });

  it("gives up on what the server refuses, with its sentence", async () => {
    const { api } = await chatWorld([typed("x")]);
    const transport = new PawlChatTransport({ api });
    await expect(transport.sendMessages(sending([said("hi")]))).rejects.toThrow("Sign in first.");
    expect(
      await new PawlChatTransport({ api, headers: HEADERS }).reconnectToStream({ chatId: "new" }),
    ).toBeNull();
  });

  it("sends a message into the answer, and stops it", async () => {
    const steered = Promise.withResolvers<void>();
    const { api, work } = await chatWorld([
      async () => {
        await steered.promise;
        return response("One.");
      },
      () => new Promise(() => undefined),
    ]);
    work();
    const transport = new PawlChatTransport({ api, headers: HEADERS });
    const stream = await transport.sendMessages(sending([said("a")]));
    await transport.send("c-1", { id: "m-s", text: "and b" });
    steered.resolve();
    const reader = stream.getReader();
    const chunks: UIMessageChunk[] = [];
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      chunks.push(next.value);
      if (next.value.type === "steering-message") await transport.stop("c-1");
    }
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "interrupted" });
  });
});

/** Lets everything up to these words pass, and then breaks. */
function breakAt(words: string): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform: (piece, controller) => {
      controller.enqueue(piece);
      if (new TextDecoder().decode(piece).includes(words)) controller.error(new TypeError("network error"));
    },
  });
}

function approved(message: UIMessage | undefined): UIMessage {
  if (message === undefined) throw new Error("There is no message.");
  const parts = message.parts.map((part) =>
    "approval" in part && part.approval !== undefined
      ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
      : part,
  );
  return { ...message, parts: parts as UIMessage["parts"] };
}
