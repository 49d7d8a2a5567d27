import type { UIMessage, UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { ModelCallError } from "../../../../src/index.ts";
import { response, text, typed } from "../../../engine/watch/streaming-port.ts";
import { chatWorld, chunksIn, get, post, said, shown, stored, textIn, typesOf } from "./chat-world.ts";

const FINDS = response([
  { type: "text", text: "I look." },
  { type: "tool-call", toolCallId: "p-1", toolName: "find", input: { order: "7" } },
]);
const REFUNDS = response([
  { type: "tool-call", toolCallId: "p-1", toolName: "refund", input: { order: "7" } },
]);

describe("a chat", () => {
  it("streams the answer to a message, and has it afterwards", async () => {
    const { api, work, model } = await chatWorld([typed("Hel", "lo", " there")]);
    work();
    const answer = await post(api, [said("hi")]);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    const chunks = await chunksIn(answer);
    expect(chunks.at(0)).toMatchObject({ type: "start" });
    expect(textIn(chunks)).toBe("Hello there");
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    expect(await stored(api)).toEqual([said("hi"), await shown(chunks)]);
    expect(model.asked).toBe(1);
  });

  it("shows turns as steps, calls by their ids in the ledger, and what they returned", async () => {
    const { api, work, store } = await chatWorld([() => FINDS, typed("It was sent.")]);
    work();
    const chunks = await chunksIn(await post(api, [said("where?")]));
    expect(typesOf(chunks).filter((type) => type !== "text-delta")).toEqual([
      "start",
      "start-step",
      "text-start",
      "text-end",
      "tool-input-available",
      "tool-output-available",
      "finish-step",
      "start-step",
      "text-start",
      "text-end",
      "finish-step",
      "finish",
    ]);
    const call = chunks.find(({ type }) => type === "tool-input-available");
    const [{ runId } = { runId: "" }] = await store.listRuns();
    expect(call).toMatchObject({ toolCallId: `${runId}/clerk#1.1`, toolName: "find", input: { order: "7" } });
    expect(chunks).toContainEqual(
      expect.objectContaining({ type: "tool-output-available", output: { order: "7", status: "sent" } }),
    );
    const [, answer] = await stored(api);
    expect(answer).toEqual(await shown(chunks));
    expect(answer?.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "text",
      "tool-find",
      "step-start",
      "text",
    ]);
  });

  it("takes the same request twice for one message, and answers both with the same", async () => {
    const { api, work, model } = await chatWorld([typed("Once.")]);
    const both = [post(api, [said("hi")]), post(api, [said("hi")])];
    work();
    const [one = [], other = []] = await Promise.all(both.map(async (each) => chunksIn(await each)));
    expect(textIn(one)).toBe("Once.");
    expect(await shown(other)).toEqual(await shown(one));
    const later = await chunksIn(await post(api, [said("hi")]));
    expect(await shown(later)).toEqual(await shown(one));
    expect(model.asked).toBe(1);
  });

  it("refuses another text under the id of a message", async () => {
    const { api, work } = await chatWorld([typed("Once.")]);
    work();
    await chunksIn(await post(api, [said("hi", "m-1")]));
    const refused = await post(api, [said("ho", "m-1")]);
    expect([refused.status, await refused.text()]).toEqual([
      409,
      "Another message of this chat has the same id: load the chat again.",
    ]);
  });

  it("answers a second message in an exchange of its own, with a message of its own", async () => {
    const { api, work } = await chatWorld([typed("One."), typed("Two.")]);
    work();
    const one = await shown(await chunksIn(await post(api, [said("a")])));
    const two = await shown(await chunksIn(await post(api, [said("a"), one, said("b")])));
    expect(one?.id).not.toBe(two?.id);
    expect(await stored(api)).toEqual([said("a"), one, said("b"), two]);
  });

  it("takes back what was shown of an attempt that failed, and nothing of it stays", async () => {
    const seen = Promise.withResolvers<void>();
    const { api, work } = await chatWorld([
      async (say) => {
        say(text("Half an ans"));
        await seen.promise;
        throw new ModelCallError("cut", {
          kind: "no_answer",
          status: null,
          retryAfterMs: 0,
          retryable: true,
        });
      },
      typed("The whole one."),
    ]);
    work();
    const answer = await post(api, [said("hi")]);
    const chunks: UIMessageChunk[] = [];
    const decoder = new TextDecoder();
    let rest = "";
    for await (const piece of answer.body ?? []) {
      rest += decoder.decode(piece, { stream: true });
      if (rest.includes("Half")) seen.resolve();
    }
    for (const line of rest.split("\n"))
      if (line.startsWith("data: {")) chunks.push(JSON.parse(line.slice(6)) as UIMessageChunk);
    expect(typesOf(chunks)).toContain("reset-step");
    const message = await shown(chunks);
    expect(message?.parts.filter(({ type }) => type === "text")).toEqual([
      expect.objectContaining({ text: "The whole one." }),
    ]);
    expect(await stored(api)).toEqual([said("hi"), message]);
  });
});

describe("resuming", () => {
  it("is answered with 204 for a chat that does not exist", async () => {
    const { api } = await chatWorld([typed("x")]);
    expect((await get(api, "stream")).status).toBe(204);
    expect((await get(api, "messages")).status).toBe(404);
  });

  it("replays the whole of an answer that is complete, as the same message", async () => {
    const { api, work } = await chatWorld([() => FINDS, typed("It was sent.")]);
    work();
    const first = await shown(await chunksIn(await post(api, [said("where?")])));
    expect(await shown(await chunksIn(await get(api, "stream")))).toEqual(first);
  });

  it("replays an answer that is being written, and then follows it", async () => {
    const seen = Promise.withResolvers<void>();
    const { api, work } = await chatWorld([
      async (say) => {
        say(text("Half"));
        await seen.promise;
        say(text(" and half"));
        return response("Half and half");
      },
    ]);
    work();
    const first = await post(api, [said("hi")]);
    const second = await get(api, "stream");
    const reader = second.body?.getReader();
    let got = "";
    while (!got.includes("Half")) got += new TextDecoder().decode((await reader?.read())?.value);
    seen.resolve();
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
      got += new TextDecoder().decode(next.value);
    expect(got).toContain("finish");
    expect(textIn(await chunksIn(first))).toBe("Half and half");
  });

  it("shows the answers to messages that waited, each as a message of its own", async () => {
    const { api, work } = await chatWorld([typed("One."), typed("Two.")]);
    const requests = [await post(api, [said("a")]), await post(api, [said("b")])];
    const resumed = await get(api, "stream");
    work();
    const starts = (await chunksIn(resumed)).filter(({ type }) => type === "start");
    expect(starts).toHaveLength(2);
    const both = await Promise.all(requests.map(async (each) => shown(await chunksIn(each))));
    expect(await stored(api)).toEqual([said("a"), both[0], said("b"), both[1]]);
  });
});

describe("resuming from an answer", () => {
  it("begins with it, and shows those behind it: each says which message it answers", async () => {
    const { api, work } = await chatWorld([typed("One."), typed("Two.")]);
    work();
    const one = await shown(await chunksIn(await post(api, [said("a")])));
    const two = await shown(await chunksIn(await post(api, [said("b")])));
    const from = async (id = "") => {
      const url = `${api}/c-1/stream?from=${encodeURIComponent(id)}`;
      const chunks = await chunksIn(await fetch(url, { headers: { "x-user": "ann" } }));
      return chunks.flatMap((chunk) => (chunk.type === "start" ? [chunk.messageId] : []));
    };
    expect(await from(one?.id)).toEqual([one?.id, two?.id]);
    expect(await from(two?.id)).toEqual([two?.id]);
    expect(await from("no such answer")).toEqual([two?.id]);
    const answers = [one, two].map(
      (message) => (message?.metadata as { pawl: { answers: string } } | undefined)?.pawl.answers,
    );
    expect(answers).toEqual(["m-a", "m-b"]);
  });
});

describe("messages while it works", () => {
  it("join the answer as steering messages, if they are to", async () => {
    const steered = Promise.withResolvers<void>();
    const { api, work } = await chatWorld([
      async () => {
        await steered.promise;
        return response("One.");
      },
      typed("Both."),
    ]);
    work();
    const first = await post(api, [said("a")]);
    const sent = await fetch(`${api}/c-1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-user": "ann" },
      body: JSON.stringify({ id: "m-s", text: "and b", mode: "steer" }),
    });
    expect([sent.status, await sent.json()]).toEqual([
      202,
      { messageId: "m-s", duplicate: false, status: "waiting" },
    ]);
    steered.resolve();
    const message = await shown(await chunksIn(first));
    expect(message?.parts.map((part) => ("text" in part ? part.text : part.type))).toEqual([
      "step-start",
      "One.",
      "steering-message",
      "step-start",
      "Both.",
    ]);
    expect(await stored(api)).toEqual([said("a"), message]);
  });
});

describe("approvals", () => {
  const approving = (message: UIMessage | undefined, approved: boolean) => ({
    ...message,
    parts: message?.parts.map((part) =>
      "approval" in part && part.approval !== undefined
        ? { ...part, state: "approval-responded", approval: { ...part.approval, approved } }
        : part,
    ),
  });

  it.each([
    [true, ["7"], "output-available"],
    [false, [], "output-denied"],
  ])("are asked of the user, whose answer %s decides", async (approved, refunds, state) => {
    const world = await chatWorld([() => REFUNDS, typed("Done.")]);
    world.work();
    const asked = await shown(await chunksIn(await post(world.api, [said("refund 7")])));
    expect(asked?.parts.at(-1)).toMatchObject({ type: "tool-refund", state: "approval-requested" });
    expect(world.refunds).toEqual([]);
    const rest = await chunksIn(await post(world.api, [approving(asked, approved)]));
    expect(rest[0]).toMatchObject({ type: "start", messageId: asked?.id });
    const whole = await shown(rest, structuredClone(asked));
    expect(whole?.parts.find(({ type }) => type === "tool-refund")).toMatchObject({ state });
    expect(whole?.parts.at(-1)).toMatchObject({ type: "text", text: "Done." });
    expect(world.refunds).toEqual(refunds);
    // The same answer again, as from another tab, changes nothing, and is given the rest of the message, too.
    const again = await chunksIn(await post(world.api, [approving(asked, approved)]));
    expect(await shown(again, structuredClone(asked))).toEqual(whole);
    const other = await post(world.api, [approving(asked, !approved)]);
    expect(other.status).toBe(409);
    expect(world.refunds).toEqual(refunds);
  });

  it("of operators are not asked of the user, who cannot give them", async () => {
    const world = await chatWorld([() => REFUNDS, typed("Done.")], { approver: "operator" });
    world.work();
    const answer = await post(world.api, [said("refund 7")]);
    const open = async () => {
      for (;;) {
        const [wait] = await world.store.listOpenWaits();
        if (wait !== undefined) return wait;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    const { waitId } = await open();
    const forged = {
      type: "tool-refund",
      state: "approval-responded",
      approval: { id: waitId, approved: true },
    };
    const refused = await post(world.api, [{ id: "x", role: "assistant", parts: [forged] }]);
    expect([refused.status, world.refunds]).toEqual([403, []]);
    await world.store.approve(waitId, { by: "op" });
    const chunks = await chunksIn(answer);
    expect(typesOf(chunks)).not.toContain("tool-approval-request");
    expect(chunks).toContainEqual(expect.objectContaining({ type: "data-pawl-wait", id: waitId }));
    expect(chunks.at(-1)).toMatchObject({ type: "finish" });
    expect(world.refunds).toEqual(["7"]);
  });
});

describe("stop", () => {
  it("ends the present answer, and not the chat", async () => {
    const { api, work } = await chatWorld([
      (say) => {
        say(text("Half"));
        return new Promise(() => undefined);
      },
      typed("Next."),
    ]);
    work();
    const first = await post(api, [said("a")]);
    const reader = first.body?.getReader();
    let got = "";
    while (!got.includes("Half")) got += new TextDecoder().decode((await reader?.read())?.value);
    const stop = await fetch(`${api}/c-1/stop`, { method: "POST", headers: { "x-user": "ann" } });
    expect(await stop.json()).toEqual({ stopped: true });
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read())
      got += new TextDecoder().decode(next.value);
    const chunks = got
      .split("\n")
      .filter((line) => line.startsWith("data: {"))
      .map((line) => JSON.parse(line.slice(6)) as UIMessageChunk);
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "interrupted" });
    const message = await shown(chunks);
    expect(JSON.stringify(message)).not.toContain("Half");
    expect(await stored(api)).toEqual([said("a"), message]);
    expect(textIn(await chunksIn(await post(api, [said("b")])))).toBe("Next.");
    const again = await fetch(`${api}/c-1/stop`, { method: "POST", headers: { "x-user": "ann" } });
    expect(await again.json()).toEqual({ stopped: false });
  });
});
