import { describe, expect, it } from "vitest";
import { blobReferenceOf } from "../../../src/core/blob-reference.ts";
import {
  agent,
  BlobMissingError,
  ConfigurationError,
  type ConversationOptions,
  conversation,
  type Json,
  MessageRefusedError,
  ModelCallError,
  type ModelPort,
  type ModelRequest,
  type RunEvent,
  Runner,
  type Store,
  type UserPart,
} from "../../../src/index.ts";
import { memoryStore, must } from "../run-fixture.ts";
import { chat, heardIn } from "./conversation-fixture.ts";

const CAT = Buffer.from("a cat, in bytes");
const BLOB = blobReferenceOf(CAT);

function picture(over: Partial<Extract<UserPart, { type: "file" }>> = {}): UserPart {
  return { type: "file", mediaType: "image/png", data: CAT, filename: "cat.png", ...over };
}

const LOOK = { parts: [{ type: "text", text: "Look." } as const, picture()] };

/** A model that records its requests, of a user's own making. */
function recordingPort(answer: (request: ModelRequest) => string = () => "Seen.") {
  const requests: ModelRequest[] = [];
  const port: ModelPort = {
    provider: "own",
    modelId: "own-1",
    respond: (request) => {
      requests.push(request);
      return Promise.resolve({
        content: [{ type: "text", text: answer(request) }],
        finishReason: "stop",
        usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, reasoningTokens: 0 },
        invalidCalls: {},
        responseId: null,
      });
    },
  };
  return { port, requests };
}

/** Refuses requests that have a file of this type, as a provider does. */
function refusing(
  mediaType: string,
  {
    times = Number.POSITIVE_INFINITY,
    ...details
  }: Partial<ModelCallError["details"]> & { times?: number } = {},
): (request: ModelRequest) => string {
  let left = times;
  return ({ messages }) => {
    if (left === 0 || !JSON.stringify(messages).includes(`"${mediaType}"`)) return "Seen.";
    left -= 1;
    throw new ModelCallError("It failed.", {
      kind: "rejected",
      status: details.kind === undefined ? 400 : null,
      retryAfterMs: null,
      retryable: false,
      ...details,
    });
  };
}

async function ownChat(
  options: ConstructorParameters<typeof Runner>[1] = {},
  talk: ConversationOptions<Json> = {},
  answer?: Parameters<typeof recordingPort>[0],
) {
  const store = options.store ?? (await memoryStore());
  const { port, requests } = recordingPort(answer);
  const runner = new Runner(conversation(agent({ name: "clerk", model: port }), talk), { ...options, store });
  const send = (...[message, over]: [Parameters<typeof runner.send>[1], object?]) =>
    runner.send("chat", message, { by: "ann", orStart: {}, ...over });
  return { store, runner, requests, send, work: () => runner.resume("chat", { wait: true }) };
}

/** The bytes of the files in a request. */
function bytesIn(messages: ModelRequest["messages"]): number {
  const parts = messages.flatMap(({ content }) => (typeof content === "string" ? [] : [...content]));
  return parts.reduce(
    (sum, part) => sum + ("data" in part && part.data instanceof Uint8Array ? part.data.length : 0),
    0,
  );
}

/** The store, with this instead of its blobs. */
function withBlob(store: Store, bytes: Uint8Array | null): Store {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === "readBlob") return () => Promise.resolve(bytes);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

describe("a picture that is sent to a conversation", () => {
  it("is shown to the model, in this turn and in later ones, and is stored as a blob", async () => {
    const { runner, prompts, work, store, say } = await chat();
    await runner.send("chat", LOOK, { by: "ann", orStart: {} });
    await work();
    await say("And now?");
    await work();
    for (const prompt of prompts) {
      const said = prompt.find(({ role }) => role === "user");
      expect(said?.content).toEqual([
        { type: "text", text: "Look." },
        {
          type: "file",
          mediaType: "image/png",
          filename: "cat.png",
          data: { type: "data", data: new Uint8Array(CAT) },
        },
      ]);
    }
    expect(prompts.map(heardIn)).toEqual([
      ["Look.", "(file)"],
      ["Look.", "(file)", "And now?"],
    ]);
    expect(await store.readBlob("chat", BLOB.blobId)).toEqual(new Uint8Array(CAT));
    const [stored] = await store.listMessages("chat");
    expect(stored?.body).toMatchObject({ parts: [{ text: "Look." }, { ...BLOB, filename: "cat.png" }] });
  });

  it("reaches a port of one's own with its bytes, its type and its reference", async () => {
    const { send, work, requests } = await ownChat();
    await send(LOOK);
    await work();
    expect(requests[0]?.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Look." },
          { type: "file", mediaType: "image/png", filename: "cat.png", ...BLOB, data: new Uint8Array(CAT) },
        ],
      },
    ]);
  });

  it("is in one message with what its sender has said before, if that was not answered", async () => {
    let fails = true;
    const store = await memoryStore();
    const { port, requests } = recordingPort(() => {
      if (!fails) return "Seen.";
      fails = false;
      throw new ConfigurationError("Not now.");
    });
    const runner = new Runner(conversation(agent({ name: "clerk", model: port })), { store });
    await runner.send("chat", "Hello.", { by: "ann", orStart: {} });
    await runner.resume("chat", { wait: true });
    await runner.send("chat", LOOK, { by: "ann" });
    await runner.resume("chat", { wait: true });
    expect(requests.at(-1)?.messages).toMatchObject([
      { role: "user", content: [{ text: "Hello." }, { text: "Look." }, { type: "file" }] },
    ]);
  });

  it.each(["in the same process", "after a restart"])(
    "is only named once the provider has refused it, so that the conversation continues, %s",
    async (when) => {
      const { store, send, work, requests } = await ownChat({}, {}, refusing("image/x-odd"));
      const odd = picture({ mediaType: "image/x-odd" });
      await send({ parts: [{ type: "text", text: "Look." }, odd] });
      if (when === "after a restart") await work();
      await send("Well?");
      await work();
      const outcomes = (await store.listExchanges("chat")).map(({ outcome }) => outcome);
      expect(outcomes).toEqual(["failed", "complete"]);
      expect(requests.at(-1)?.messages).toEqual([
        {
          role: "user",
          content: [
            { type: "text", text: "Look." },
            {
              type: "text",
              text: '[Left out: file "cat.png" (image/x-odd). A request with it was refused.]',
            },
            { type: "text", text: "Well?" },
          ],
        },
      ]);
      expect(await store.readBlob("chat", BLOB.blobId)).not.toBeNull();
    },
  );

  it.each(["in the same process", "after a restart"])(
    "is only named once a model refuses it that came after it was answered, %s",
    async (when) => {
      const { store, send, work } = await ownChat();
      await send(LOOK);
      await work();
      const changed = await ownChat({ store }, {}, refusing("image/png"));
      await changed.send("And now?");
      if (when === "after a restart") await changed.work();
      await changed.send("Well?");
      await changed.work();
      const outcomes = (await store.listExchanges("chat")).map(({ outcome }) => outcome);
      expect(outcomes).toEqual(["complete", "failed", "complete"]);
      expect(heardIn(must(changed.requests.at(-1)).messages)).toEqual([
        "Look.",
        '[Left out: file "cat.png" (image/png). A request with it was refused.]',
        "And now?\n\nWell?",
      ]);
      expect((await store.verify("chat")).problems).toEqual([]);
    },
  );

  it.each<[string, Partial<ModelCallError["details"]>]>([
    ["the connection broke", { kind: "no_answer", retryable: true }],
    ["the key was wrong", { kind: "rejected", status: 401 }],
    ["the credit was used up", { kind: "rejected", status: 400, account: true }],
    ["a package was missing", { kind: "not_sent" }],
  ])("is sent again after an exchange that failed because %s", async (_, details) => {
    const failing = refusing("image/png", { times: 1, ...details });
    const { store, send, work, requests } = await ownChat({ maxModelAttempts: 1 }, {}, failing);
    await send(LOOK);
    await work();
    await send("Well?");
    await work();
    const outcomes = (await store.listExchanges("chat")).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(["failed", "complete"]);
    expect(heardIn(must(requests.at(-1)).messages)).toEqual(["Look.", "(file)", "Well?"]);
  });

  it("is counted by its type and size, and left out with its turn when the history is too long", async () => {
    const { runner, work, prompts, say } = await chat(undefined, { historyMaxTokens: 2_000 });
    await runner.send("chat", LOOK, { by: "ann", orStart: {} });
    await work();
    await runner.send("chat", { parts: [picture({ data: Buffer.from("a dog") })] }, { by: "ann" });
    await work();
    await say("Which was it?");
    await work();
    const files = prompts.map((prompt) => heardIn(prompt).filter((heard) => heard === "(file)").length);
    // The newest turn is always shown, beside what is said after it.
    expect(files).toEqual([1, 2, 1]);
  });

  it("is only named once newer ones fill a request, in the same process and after a restart", async () => {
    const { store, send, work, requests } = await ownChat();
    const names = ["one", "two", "three", "four", "five", "six"];
    for (const name of names)
      await send({ parts: [picture({ filename: name, data: Buffer.alloc(3_700_000, name) })] });
    await work();
    const again = await ownChat({ store });
    await again.send("Well?");
    await again.work();
    const all = [...requests, ...again.requests];
    expect(all.map(({ messages }) => bytesIn(messages))).toEqual(
      [1, 2, 3, 4, 5, 5, 5].map((n) => n * 3_700_000),
    );
    const named = '[Left out: file "one" (image/png). Newer files fill the request.]';
    for (const { messages } of all.slice(5)) expect(heardIn(messages)[0]).toBe(named);
    const reserved = (await store.listModelCalls("chat")).map((call) => call.reserved.tokens);
    expect(must(reserved[5]) - must(reserved[4])).toBeLessThan(100);
  });

  it("is reserved for before the model is asked", async () => {
    const { runner, work, exchanges } = await chat(undefined, { budget: { tokens: 6_000 } });
    await runner.send("chat", { parts: [picture(), picture({ data: "AAAA" })] }, { by: "ann", orStart: {} });
    await work();
    expect(await exchanges()).toEqual([["ann", 1, null, "budget"]]);
  });

  it.each([
    ["gone", null],
    ["damaged", Buffer.from("a dog, in bytes")],
  ])(
    "stops the run before anything is sent if its bytes are %s, and resumes with them",
    async (how, bytes) => {
      const { store, send } = await ownChat();
      await send(LOOK);
      const broken = await ownChat({ store: withBlob(store, bytes) });
      const failure = await broken.work().catch((error: unknown) => error);
      expect(BlobMissingError.isInstance(failure)).toBe(true);
      expect(String(failure)).toContain(
        `file "cat.png" (image/png) of a message) of run chat is ${how}: restore it`,
      );
      expect(broken.requests).toEqual([]);
      expect((await store.readUsage("chat")).charged.tokens).toBe(0);
      const whole = await ownChat({ store });
      await whole.work();
      expect(whole.requests).toHaveLength(1);
    },
  );
});

describe("a picture of a cancelled conversation that was collected", () => {
  /** A cancelled conversation with a picture, whose blobs are gone. */
  async function collected() {
    const { store, send, work } = await ownChat();
    await send(LOOK);
    await work();
    await store.requestCancel("chat");
    await store.collectBlobs({ olderThanMs: -1, maxBytes: 0 });
    return store;
  }

  it("stops the run that is resumed, with an error that says what to do", async () => {
    const { runner, work } = await ownChat({ store: await collected() });
    await runner.resume("chat", { wait: true });
    await runner.send("chat", "Well?", { by: "ann" });
    await expect(work()).rejects.toThrow(/or set degradedReplay on the step to show the model only its name/);
  });

  it("is only named with degradedReplay, and a warning says so", async () => {
    const warnings: string[] = [];
    const onEvent = (event: RunEvent) => void (event.type === "warning" && warnings.push(event.message));
    const { runner, work, requests } = await ownChat(
      { store: await collected(), onEvent },
      { degradedReplay: true },
    );
    await runner.resume("chat", { wait: true });
    await runner.send("chat", "Well?", { by: "ann" });
    await work();
    expect(requests.at(-1)?.messages[0]).toEqual({
      role: "user",
      content: [
        { type: "text", text: "Look." },
        { type: "text", text: '[Left out: file "cat.png" (image/png). Its contents are lost.]' },
      ],
    });
    expect(warnings).toEqual([
      `Blob ${BLOB.blobId} (file "cat.png" (image/png) of a message) is gone: the model sees its name in its place.`,
    ]);
  });
});

describe("a message with files", () => {
  it("is the same message under the same id, and refused with other bytes", async () => {
    const { send, store } = await ownChat();
    await send(LOOK, { id: "m-1" });
    expect(await send(LOOK, { id: "m-1" })).toMatchObject({ duplicate: true });
    const other = { parts: [LOOK.parts[0], picture({ data: Buffer.from("a dog") })] };
    await expect(send(other as typeof LOOK, { id: "m-1" })).rejects.toThrow(MessageRefusedError);
    expect((await store.verify("chat")).blobs).toBe(1);
  });

  it("is refused if a text in it, or a file that is a text, holds a secret", async () => {
    const { send } = await ownChat({ policy: { secretKeys: ["password"] } });
    const secret = '{"password":"hunter2"}';
    const refused = [
      { parts: [{ type: "text" as const, text: secret }] },
      { parts: [picture({ mediaType: "text/plain", data: Buffer.from(secret) })] },
      { parts: [picture({ mediaType: "application/json", data: Buffer.from(secret) })] },
    ];
    for (const message of refused) await expect(send(message)).rejects.toThrow(/policy\.secretKeys/);
    await send({ parts: [picture()] });
  });

  it("is refused with an address, in one sentence", async () => {
    const { send } = await ownChat();
    await expect(send({ parts: [picture({ data: "https://x.org/cat.png" })] })).rejects.toThrow(
      "Part 1 of the message is the address of a file: read the file and give its bytes, since Pawl downloads nothing that people send.",
    );
  });

  it("is no input of a run: there, it is JSON like any other", async () => {
    const { runner, requests } = await ownChat();
    await runner.run({ parts: [{ type: "text", text: "Hi." }] }, { runId: "chat" });
    expect(requests[0]?.messages).toEqual([
      { role: "user", content: '{"parts":[{"text":"Hi.","type":"text"}]}' },
    ]);
  });
});
