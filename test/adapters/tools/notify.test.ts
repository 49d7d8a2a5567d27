import { describe, expect, it } from "vitest";
import { notify } from "../../../src/adapters/tools/index.ts";
import { closedPort } from "./mail-server.ts";
import { callTool, callTools, LOOPBACK, openService } from "./tool-fixture.ts";

const TEXT = { text: "The report is there." };

describe("notify", () => {
  it("posts the text with the key, in the body and in a header", async () => {
    const service = await openService((response) => void response.writeHead(202).end());
    const tool = notify({ url: `${service.url}/hook`, headers: { Authorization: "Bearer hook-token" } });
    const { result, call } = await callTool(tool, TEXT, LOOPBACK);
    expect(result).toEqual({ delivered: true });
    expect([call.effect, call.recovery]).toEqual(["external", "opaque"]);
    const [request] = service.seen;
    expect(request).toMatchObject({ method: "POST", path: "/hook" });
    expect(request?.headers).toMatchObject({
      authorization: "Bearer hook-token",
      "content-type": "application/json",
      "idempotency-key": call.idempotencyKey,
    });
    expect(JSON.parse(request?.body ?? "")).toEqual({
      ...TEXT,
      runId: "r-1",
      idempotencyKey: call.idempotencyKey,
    });
  });

  it("sends the same text once", async () => {
    const service = await openService((response) => void response.end());
    const { calls } = await callTools(
      { notify: notify({ url: service.url }) },
      [[["notify", TEXT]], [["notify", TEXT]], [["notify", { text: "Another." }]]],
      LOOPBACK,
    );
    expect(calls.map(({ status }) => status)).toEqual(["succeeded", "deduplicated", "succeeded"]);
    expect(service.seen).toHaveLength(2);
  });

  it.each([
    [true, "succeeded", 2],
    [false, "failed", 1],
  ] as const)("after a 500, where keyed is %s, has %s", async (keyed, status, requests) => {
    const service = await openService(
      (response, _request, n) => void response.writeHead(n === 1 ? 500 : 200).end(),
    );
    const { call } = await callTool(notify({ url: service.url, keyed }), TEXT, LOOPBACK);
    expect([call.status, service.seen.length]).toEqual([status, requests]);
    expect(call.receipt?.uncertain).toBe(!keyed);
  });

  it("waits for a person if its credentials are refused", async () => {
    const service = await openService((response) => void response.writeHead(401).end());
    const { status, store } = await callTool(notify({ url: service.url }), TEXT, LOOPBACK);
    expect(status).toBe("waiting");
    expect(await store.listWaits("r-1")).toMatchObject([{ kind: "escalation" }]);
  });

  it("reports that its webhook has moved, and does not follow the redirect", async () => {
    const service = await openService((response) => void response.writeHead(308, { location: "/new" }).end());
    const { result } = await callTool(notify({ url: service.url }), TEXT, LOOPBACK);
    expect(result).toBe(`${service.host} answered 308: the webhook has moved, change its url.`);
    expect(service.seen).toHaveLength(1);
  });

  it("does not show the URL of the webhook, which is a secret", async () => {
    const echo = await openService(
      (response, { path }) => void response.writeHead(404).end(`nothing at ${path}`),
    );
    const { result } = await callTool(notify({ url: `${echo.url}/T0/B0-secret` }), TEXT, LOOPBACK);
    expect(result).toBe(`${echo.host} answered 404: nothing at [secret].`);
  });

  it("that reached no server has not happened", async () => {
    const tool = notify({ url: `http://127.0.0.1:${await closedPort()}/` });
    const { call } = await callTool(tool, TEXT, LOOPBACK);
    expect([call.status, call.receipt?.errorCode, call.receipt?.uncertain]).toEqual([
      "failed",
      "not_applied",
      false,
    ]);
  });
});
