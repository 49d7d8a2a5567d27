import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { chatHandler } from "../../../../src/adapters/ai-sdk/index.ts";
import { Runner } from "../../../../src/index.ts";
import { response, typed } from "../../../engine/watch/streaming-port.ts";
import { chatWorld, chunksIn, get, post, said, shown, stored } from "./chat-world.ts";

describe("whose chat it is", () => {
  it("is for its own scope alone: for another one there is no such chat", async () => {
    const { api, work, store } = await chatWorld([typed("Secret."), typed("x")]);
    work();
    await chunksIn(await post(api, [said("hi")]));
    const bob = { as: "bob" };
    const answers = [
      await get(api, "stream", bob),
      await get(api, "messages", bob),
      await fetch(`${api}/c-1/stop`, { method: "POST", headers: { "x-user": "bob" } }),
      await post(api, [said("let me in")], bob),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect((await Promise.all(answers.map((each) => each.text()))).join()).not.toContain("Secret");
    const [run] = await store.listRuns();
    expect(await store.listMessages(run?.runId ?? "")).toHaveLength(1);
  });

  it("of two scopes that begin a chat of the same id at once, one has it", async () => {
    const { api, work } = await chatWorld([typed("x")]);
    work();
    const answers = await Promise.all(["ann", "bob", "carl"].map((as) => post(api, [said("hi")], { as })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 404, 404]);
  });

  it("needs somebody who has signed in", async () => {
    const { api } = await chatWorld([typed("x")]);
    const answers = [
      await fetch(`${api}/c-1/stream`),
      await fetch(`${api}/c-1/messages`),
      await fetch(`${api}/c-1/stop`, { method: "POST" }),
      await fetch(api, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  });

  it("is never everybody's: an authorize without a scope is an error", async () => {
    const { handler } = await chatWorld([typed("x")], {
      handler: { authorize: () => ({ by: "ann" }) as never },
    });
    await expect(handler(new Request("http://x/api/chat/c-1/messages"))).rejects.toThrow(/scope/);
  });

  it("needs authorize, and a runner with a store", async () => {
    const { runner, talk } = await chatWorld([typed("x")]);
    expect(() => chatHandler(runner, {} as never)).toThrow(/authorize/);
    expect(() => chatHandler(new Runner(talk), { authorize: () => null })).toThrow(/store/);
  });
});

describe("files", () => {
  const picture = {
    type: "file",
    mediaType: "image/png",
    filename: "broken.png",
    url: `data:image/png;base64,${Buffer.from("not really a picture").toString("base64")}`,
  } as const;

  it("reach the model, and are given back as they were sent", async () => {
    const seen: unknown[] = [];
    const { api, work } = await chatWorld([
      (_say, { messages }) => {
        seen.push(messages.at(-1));
        return response("It is broken.");
      },
    ]);
    work();
    const message: UIMessage = { id: "m-1", role: "user", parts: [picture, { type: "text", text: "look" }] };
    const answer = await shown(await chunksIn(await post(api, [message])));
    expect(await stored(api)).toEqual([message, answer]);
    expect(JSON.stringify(seen)).toContain("broken.png");
  });

  it("that are elsewhere or no files are refused in one sentence, and nothing is sent", async () => {
    const { api, store } = await chatWorld([typed("x")]);
    for (const url of ["https://example.org/a.png", "data:image/png;base64,%%%", "file:///etc/passwd"]) {
      const answer = await post(api, [{ id: "m", role: "user", parts: [{ ...picture, url }] }]);
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(/^[A-Z].*\.$/)]);
    }
    expect(await store.listRuns()).toEqual([]);
  });
});

describe("a chat that has ended", () => {
  it("says so to those who wait for an answer, and to those who write", async () => {
    const { api, store } = await chatWorld([typed("x")]);
    const waiting = await post(api, [said("a")]);
    const [run] = await store.listRuns();
    await store.requestCancel(run?.runId ?? "");
    const ended = "This chat has ended: begin another one.";
    expect(await chunksIn(waiting)).toEqual([{ type: "error", errorText: ended }]);
    const late = await post(api, [said("b")]);
    expect([late.status, await late.text()]).toEqual([409, ended]);
  });
});

describe("what is wrong with a request", () => {
  it.each([
    ["no JSON", "x", "application/json", 400],
    ["no content type of JSON", "{}", "text/plain", 415],
    ["no chat", "{}", "application/json", 400],
    ["no messages", '{"id":"c"}', "application/json", 400],
    ["an empty text", '{"id":"c","messages":[{"id":"m","role":"user","parts":[]}]}', "application/json", 400],
    ["no id of the message", '{"id":"c","messages":[{"role":"user","parts":[]}]}', "application/json", 400],
    [
      "nothing to do",
      '{"id":"c","messages":[{"id":"m","role":"assistant","parts":[]}]}',
      "application/json",
      400,
    ],
    ["another answer", '{"id":"c","messages":[],"trigger":"regenerate-message"}', "application/json", 400],
    ["too much", JSON.stringify({ id: "c", messages: "x".repeat(2_000) }), "application/json", 413],
  ])("is said in one sentence: %s", async (_what, body, type, status) => {
    const { api, store } = await chatWorld([typed("x")], { handler: { maxBodyBytes: 1_000 } });
    const answer = await fetch(api, {
      method: "POST",
      headers: { "content-type": type, "x-user": "ann" },
      body,
    });
    expect(answer.status).toBe(status);
    expect(await answer.text()).toMatch(/^[A-Z].*\.$/);
    expect(await store.listRuns()).toEqual([]);
  });

  it.each([
    ["a half of a character in the id", { id: "\ud800", parts: [{ type: "text", text: "a" }] }],
    ["a half of a character in the text", { id: "m", parts: [{ type: "text", text: "a\ud800" }] }],
    ["a very long id", { id: "m".repeat(2_000), parts: [{ type: "text", text: "a" }] }],
    [
      "too many files",
      {
        id: "m",
        parts: Array.from({ length: 40 }, () => ({
          type: "file",
          mediaType: "text/plain",
          url: "data:text/plain,a",
        })),
      },
    ],
  ])("is said in one sentence: %s", async (_what, message) => {
    const { api, store } = await chatWorld([typed("x")]);
    const answer = await post(api, [{ role: "user", ...message }]);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringMatching(/^[A-Z].*\.$/)]);
    expect(await store.listRuns()).toEqual([]);
  });

  it("is said about ids and places too, and a form of another site stops nothing", async () => {
    const { api, work } = await chatWorld([typed("x")]);
    work();
    await chunksIn(await post(api, [said("a")]));
    expect((await post(api, [said("a")], { chat: ".." })).status).toBe(400);
    for (const before of ["xx", "", "1.1.00000000"]) {
      const answer = await fetch(`${api}/c-1/messages?before=${before}`, { headers: { "x-user": "ann" } });
      expect([answer.status, await answer.text()]).toEqual([400, expect.not.stringContaining("key-")]);
    }
    const headers = { "x-user": "ann", "content-type": "application/x-www-form-urlencoded" };
    expect((await fetch(`${api}/c-1/stop`, { method: "POST", headers, body: "a=b" })).status).toBe(415);
  });

  it("refuses a stop from a page of another site, unless its browser had to ask for consent", async () => {
    const { handler, api, work } = await chatWorld([typed("x")]);
    work();
    await chunksIn(await post(api, [said("a")]));
    const stopFrom = async (site: string, more: Record<string, string> = {}) => {
      const headers = { "x-user": "ann", origin: "https://other.example", "sec-fetch-site": site, ...more };
      return handler(new Request(`${api}/c-1/stop`, { method: "POST", headers }));
    };
    const refused = await stopFrom("cross-site");
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringMatching(/another site/)]);
    expect((await stopFrom("cross-site", { "content-type": "application/json" })).status).toBe(200);
    for (const site of ["same-origin", "same-site", "none"]) expect((await stopFrom(site)).status).toBe(200);
  });

  it("names all methods in the answer to one that does not exist", async () => {
    const { handler, api } = await chatWorld([typed("x")]);
    const answer = await handler(new Request(`${api}/c-1/stream`, { method: "POST" }));
    expect([answer.status, await answer.text()]).toEqual([
      405,
      "There is no POST of stream: use GET stream, POST stop, GET messages, POST messages.",
    ]);
  });
});
