import type { UIMessage } from "ai";
import { describe, expect, it, vi } from "vitest";
import { WatchHub } from "../../../../src/engine/watch/watch-hub.ts";
import { ModelCallError } from "../../../../src/index.ts";
import { response, text, typed } from "../../../engine/watch/streaming-port.ts";
import { chatWorld, chunksIn, get, post, said, shown, stored, typesOf } from "./chat-world.ts";

const refunds = (...orders: readonly string[]) =>
  response(
    orders.map((order) => ({
      type: "tool-call",
      toolCallId: `p-${order}`,
      toolName: "refund",
      input: { order },
    })),
  );

/** The wait that the run begins next. */
async function nextWait(store: Awaited<ReturnType<typeof chatWorld>>["store"], count = 1) {
  return vi.waitFor(async () => {
    const waits = await store.listOpenWaits();
    expect(waits).toHaveLength(count);
    return waits;
  });
}

describe("what a page ends with", () => {
  it("is the answer of a run that was cancelled and resumed", async () => {
    const { api, work, store, runner } = await chatWorld([() => refunds("7"), typed("Done.")], {
      approver: "operator",
    });
    const stop = work();
    const cancelled = post(api, [said("a")]);
    const [wait] = await nextWait(store);
    const { runId = "", waitId = "" } = wait ?? {};
    await stop();
    await store.requestCancel(runId);
    expect(typesOf(await chunksIn(await cancelled)).at(-1)).toBe("finish");
    await store.approve(waitId, { by: "op" }).catch(() => undefined);
    await runner.resume(runId).catch(() => undefined);
    const [again] = await store.listOpenWaits();
    if (again !== undefined) await store.approve(again.waitId, { by: "op" });
    await runner.resume(runId, { wait: true });
    const answer = await shown(await chunksIn(await get(api, "stream")));
    expect(answer?.parts.at(-1)).toMatchObject({ type: "text", text: "Done." });
    expect(await stored(api)).toEqual([said("a"), answer]);
  });

  it("shows which of two approvals was given, after a reload too", async () => {
    const { api, work, refunds: done } = await chatWorld([() => refunds("1", "2"), typed("Both.")]);
    work();
    const asked = await shown(await chunksIn(await post(api, [said("a")])));
    const one = answered(asked, { 1: true });
    const half = await shown(await chunksIn(await post(api, [one])), one);
    const states = (message: UIMessage | undefined) =>
      message?.parts.flatMap((part) => ("state" in part && "approval" in part ? [part.state] : []));
    expect(states(half)).toEqual(["approval-responded", "approval-requested"]);
    const [, reloaded] = await stored(api);
    expect(states(reloaded)).toEqual(["approval-responded", "approval-requested"]);
    expect(states(await shown(await chunksIn(await get(api, "stream"))))).toEqual(states(reloaded));
    const both = answered(reloaded, { 2: true });
    const whole = await shown(await chunksIn(await post(api, [both])), both);
    expect(whole?.parts.at(-1)).toMatchObject({ type: "text", text: "Both." });
    expect(done.toSorted()).toEqual(["1", "2"]);
  });

  it("has the whole of a large result", async () => {
    const large = response([
      { type: "tool-call", toolCallId: "p-1", toolName: "find", input: { order: "large" } },
    ]);
    const { api, work } = await chatWorld([() => large, typed("Long.")]);
    work();
    const answer = await shown(await chunksIn(await post(api, [said("a")])));
    const found = answer?.parts.find(({ type }) => type === "tool-find");
    expect(found).toMatchObject({ output: { order: "large", status: "x".repeat(300_000) } });
    expect(await stored(api)).toEqual([said("a"), answer]);
  });

  it("says that an exchange failed, after a reload too", async () => {
    const { api, work } = await chatWorld([
      () => {
        throw new ModelCallError("No.", {
          kind: "rejected",
          status: 400,
          retryAfterMs: null,
          retryable: false,
        });
      },
    ]);
    work();
    expect(typesOf(await chunksIn(await post(api, [said("a")]))).at(-1)).toBe("error");
    const [, answer] = await stored(api);
    expect(answer?.metadata).toMatchObject({ pawl: { outcome: "failed" } });
  });

  it("does not say who has stopped the answer", async () => {
    const { api, work, store, runner } = await chatWorld([() => refunds("7")], { approver: "operator" });
    work();
    const answer = post(api, [said("a")]);
    const [wait] = await nextWait(store);
    await runner.stop(wait?.runId ?? "", { by: "root@inside" });
    expect(JSON.stringify(await chunksIn(await answer))).not.toContain("root@inside");
  });

  it("is an error for a message that was withdrawn", async () => {
    const { api, store, runner } = await chatWorld([typed("x")]);
    const waiting = await post(api, [said("a", "m-1")]);
    const resumed = await get(api, "stream");
    const [run] = await store.listRuns();
    await runner.unsend(run?.runId ?? "", "m-1");
    expect(typesOf(await chunksIn(waiting))).toEqual(["error"]);
    expect(await chunksIn(resumed)).toEqual([]);
  });
});

describe("a request that is left", () => {
  it("leaves no viewer behind, whether it waits for the next chunk or not", async () => {
    let viewers = 0;
    const join = Reflect.get(WatchHub.prototype, "join");
    const spy = vi.spyOn(WatchHub.prototype, "join").mockImplementation(function (this: WatchHub, viewer) {
      viewers += 1;
      const leave = join.call(this, viewer);
      return () => {
        viewers -= 1;
        leave();
      };
    });
    const over = Promise.withResolvers<void>();
    const { api, work, handler } = await chatWorld([
      async (say) => {
        for (let word = 0; word < 200; word++) say(text(`w${word} `));
        await over.promise;
        return response("Over.");
      },
    ]);
    work();
    const headers = { "x-user": "ann" };
    void post(api, [said("a")]).catch(() => undefined);
    await vi.waitFor(async () => expect((await get(api, "messages")).status).toBe(200));
    const before = viewers;
    for (let reads = 0; reads < 4; reads++) {
      const answer = await handler(new Request(`${api}/c-1/stream`, { headers }));
      const reader = answer.body?.getReader();
      for (let read = 0; read < reads; read++) await reader?.read();
      await reader?.cancel();
    }
    await vi.waitFor(() => expect(viewers).toBe(before));
    spy.mockRestore();
    over.resolve();
  });

  it("breaks its stream, and does not end it, if it is aborted in the middle", async () => {
    const over = Promise.withResolvers<void>();
    const { api, work, handler } = await chatWorld([
      async () => {
        await over.promise;
        return response("Over.");
      },
    ]);
    work();
    void post(api, [said("a")]).catch(() => undefined);
    await vi.waitFor(async () => expect((await get(api, "messages")).status).toBe(200));
    const left = new AbortController();
    const answer = await handler(
      new Request(`${api}/c-1/stream`, { headers: { "x-user": "ann" }, signal: left.signal }),
    );
    setTimeout(() => left.abort(), 50);
    await expect(answer.text()).rejects.toThrow("aborted before the answer was over");
    over.resolve();
  });
});

/** The page's answers to the requests for approval, by the order they are about. */
function answered(message: UIMessage | undefined, given: { readonly [order: string]: boolean }): UIMessage {
  if (message === undefined) throw new Error("There is no message.");
  const parts = message.parts.map((part) => {
    if (!("approval" in part) || part.approval === undefined || !("input" in part)) return part;
    const approved = given[(part.input as { order: string }).order];
    if (approved === undefined) return part;
    return { ...part, state: "approval-responded", approval: { ...part.approval, approved } };
  });
  return { ...message, parts: parts as UIMessage["parts"] };
}
